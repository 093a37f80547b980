// JSON of vectors: values that every language reads alike. Doubles are the 16 hexadecimal digits of
// their bits, bytes are hexadecimal, integers beyond 2^53 are decimal texts.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/sha256.h"

namespace bandana::vectors {

inline std::string Text(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (c == '\n') {
      json += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      json += code;
    } else {
      json += c;
    }
  }
  return json + '"';
}
inline std::string Hex(std::string_view bytes) { return '"' + ToHex(AsBytes(bytes)) + '"'; }
inline std::string Bits(double value) {
  char text[24];
  std::snprintf(text, sizeof text, "\"%016llx\"",
                static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(value)));
  return text;
}
inline std::string Whole(std::uint64_t value) { return '"' + std::to_string(value) + '"'; }
inline std::string Signed(std::int64_t value) { return '"' + std::to_string(value) + '"'; }

inline std::string Joined(const std::vector<std::string>& parts, const char* between) {
  std::string joined;
  for (std::size_t i = 0; i < parts.size(); ++i) joined += (i == 0 ? "" : between) + parts[i];
  return joined;
}
inline std::string List(const std::vector<std::string>& parts) {
  return '[' + Joined(parts, ",") + ']';
}
// {"a":1,"b":2} of a, 1, b, 2: values are JSON.
inline std::string Object(const std::vector<std::pair<std::string, std::string>>& members) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : members) parts.push_back(Text(name) + ":" + value);
  return '{' + Joined(parts, ",") + '}';
}

// One vector per line.
inline std::string File(
    std::string_view name, int version,
    const std::vector<std::pair<std::string, std::vector<std::string>>>& lists) {
  std::string json = "{\"vectors\":" + Text(name) + ",\"version\":" + std::to_string(version);
  for (const auto& [list, cases] : lists) {
    json += ",\n" + Text(list) + ":[\n" + Joined(cases, ",\n") + "\n]";
  }
  return json + "}\n";
}

}  // namespace bandana::vectors

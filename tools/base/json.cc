#include "tools/base/json.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/check.h"

namespace bandana {

void JsonWriter::BeginValue() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (depth_ == 0) return;
  text_ += first_ ? "\n" : ",\n";
  text_.append(2 * depth_, ' ');
  first_ = false;
}

void JsonWriter::Begin(char bracket) {
  BeginValue();
  text_ += bracket;
  ++depth_;
  first_ = true;
}

void JsonWriter::End(char bracket) {
  BANDANA_CHECK(depth_ > 0 && !after_key_);
  --depth_;
  if (!first_) {
    text_ += '\n';
    text_.append(2 * depth_, ' ');
  }
  text_ += bracket;
  first_ = false;
}

void JsonWriter::Quote(std::string_view text) {
  text_ += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text_ += absl::StrFormat("\\u%04x", c);
    } else {
      text_ += c;
    }
  }
  text_ += '"';
}

JsonWriter& JsonWriter::Key(std::string_view key) {
  BANDANA_CHECK(!after_key_);
  BeginValue();
  Quote(key);
  text_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::BeginObject() { return Begin('{'), *this; }
JsonWriter& JsonWriter::EndObject() { return End('}'), *this; }
JsonWriter& JsonWriter::BeginArray() { return Begin('['), *this; }
JsonWriter& JsonWriter::EndArray() { return End(']'), *this; }

JsonWriter& JsonWriter::Text(std::string_view value) {
  BeginValue();
  Quote(value);
  return *this;
}

JsonWriter& JsonWriter::Number(double value) {
  BeginValue();
  if (!std::isfinite(value)) {
    text_ += "null";
    return *this;
  }
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  text_.append(digits, end);
  return *this;
}

JsonWriter& JsonWriter::Integer(std::uint64_t value) {
  BeginValue();
  text_ += std::to_string(value);
  return *this;
}

JsonWriter& JsonWriter::Boolean(bool value) {
  BeginValue();
  text_ += value ? "true" : "false";
  return *this;
}

std::string JsonWriter::Take() {
  BANDANA_CHECK(depth_ == 0 && !after_key_);
  text_ += '\n';
  return std::exchange(text_, {});
}

}  // namespace bandana

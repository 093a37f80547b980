#include "common/wire/group_names.h"

#include <algorithm>
#include <cstddef>

#include "common/base/status.h"

namespace bandana {
namespace {

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

// The bytes of the code point at the front of `text`; 0 when it is not one.
std::size_t CodePointBytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  }
  // Longer than needed, a surrogate, or above U+10FFFF.
  const auto second = static_cast<unsigned char>(text[1]);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0)) return 0;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90)) return 0;
  return bytes;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = CodePointBytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

bool IsControl(char c) { return (c >= 0 && c < ' ') || c == 0x7F; }

}  // namespace

absl::Status CheckGroupName(std::string_view name) {
  if (name.empty() || name.size() > kGroupNameBytesMax ||
      !std::ranges::all_of(name, IsNameCharacter)) {
    return InvalidArgument("the name of a group must have 1 to ", kGroupNameBytesMax,
                           " lower-case letters, digits, hyphens or underscores");
  }
  if (name == "user" || name == "node") {
    return InvalidArgument("a group must not be named `", ToAbsl(name),
                           "`, which users.tsv uses for another column");
  }
  return absl::OkStatus();
}

absl::Status CheckGroupValue(std::string_view value) {
  if (value.empty() || value.size() > kGroupValueBytesMax) {
    return InvalidArgument("the value of a group must have 1 to ", kGroupValueBytesMax,
                           " bytes, got ", value.size());
  }
  if (std::ranges::any_of(value, IsControl) || !IsUtf8(value)) {
    return InvalidArgument("the value of a group must be UTF-8 without control characters");
  }
  if (value == "-") return InvalidArgument("the value `-` of a group stands for none");
  return absl::OkStatus();
}

}  // namespace bandana

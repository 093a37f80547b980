#include "common/design/files/group_names.h"

#include <algorithm>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/base/utf8.h"

namespace bandana {
namespace {

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

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

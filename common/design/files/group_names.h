// Names and values of groups of users and arms (config.proto: user_groups, arm_groups).
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "common/base/limits.h"

namespace bandana {

// Errors: INVALID_ARGUMENT unless `name` has 1 to kGroupNameBytesMax lower-case letters, digits,
// hyphens and underscores, and is neither `user` nor `node`, columns of users.tsv.
absl::Status CheckGroupName(std::string_view name);
// Errors: INVALID_ARGUMENT unless `value` has 1 to kGroupValueBytesMax bytes of UTF-8 without
// control characters, and is not `-`, which stands for none. The message does not quote it.
absl::Status CheckGroupValue(std::string_view value);

}  // namespace bandana

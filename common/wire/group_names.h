// Names and values of groups of users and arms (config.proto: user_groups, arm_groups).
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace bandana {

inline constexpr std::uint32_t kGroupsMax = 32;  // names, per model and side
inline constexpr int kGroupNameBytesMax = 32;
inline constexpr int kGroupValueBytesMax = 64;
// Values of one group: one per user of the largest models.
inline constexpr std::uint32_t kGroupValuesMax = 1u << 20;

// Errors: INVALID_ARGUMENT unless `name` has 1 to kGroupNameBytesMax lower-case letters, digits,
// hyphens and underscores, and is neither `user` nor `node`, columns of users.tsv.
absl::Status CheckGroupName(std::string_view name);
// Errors: INVALID_ARGUMENT unless `value` has 1 to kGroupValueBytesMax bytes of UTF-8 without
// control characters, and is not `-`, which stands for none. The message does not quote it.
absl::Status CheckGroupValue(std::string_view value);

}  // namespace bandana

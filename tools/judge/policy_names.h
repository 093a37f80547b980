// Policies by the names that people give them.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/judging/judged_policy.h"

namespace bandana {

// uniform, logging, greedy, first, constant:ARM, table:FILE or scores:FILE. Errors:
// INVALID_ARGUMENT another name.
absl::Status CheckPolicyName(const std::string& name);

// Errors: as above; INVALID_ARGUMENT a file that is no table; NOT_FOUND, UNAVAILABLE its file.
absl::StatusOr<std::unique_ptr<JudgedPolicy>> MakePolicy(const std::string& name);

}  // namespace bandana

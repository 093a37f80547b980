// Policies by the names that people give them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/judging/judged_policy.h"

namespace bandana {

// uniform, logging, greedy, first, constant:ARM, table:FILE, scores:FILE, config:FILE or
// model:EXPORT. Errors: INVALID_ARGUMENT another name.
absl::Status CheckPolicyName(const std::string& name);

// config:FILE
bool IsConfigPolicy(const std::string& name);

struct PolicyOptions {
  std::optional<double> epsilon;  // of config:FILE
  std::uint64_t seed = 1;
  double unreported = 0;
};
// Errors: as above; INVALID_ARGUMENT a file that is no table, configuration or export; NOT_FOUND,
// UNAVAILABLE its file.
absl::StatusOr<std::unique_ptr<JudgedPolicy>> MakePolicy(const std::string& name,
                                                         const PolicyOptions& options);

}  // namespace bandana

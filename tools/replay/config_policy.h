// A configuration as a policy that learns from the log that it is judged by.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/judging/judged_policy.h"
#include "tools/replay/replayed_model.h"

namespace bandana {

// Progressive validation: each decision is judged by what the model has learnt from those before,
// then learnt from. `name`: as rows have it. Errors: ReplayedModel::Create's, with the name.
absl::StatusOr<std::unique_ptr<JudgedPolicy>> MakeConfigPolicy(const std::string& name,
                                                               const ReplayOptions& options);

}  // namespace bandana

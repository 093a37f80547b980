// The planner's question as key=value settings.
#pragma once

#include "absl/status/statusor.h"
#include "common/design/planner/planner.h"
#include "tools/base/settings.h"

namespace bandana::lab {

// Keys: mode (local, central), dimension 10, users 1, influence_of_others 0 (what all users
// together count for each, spread evenly: 1 makes them one), events 1000 (of a user), epsilon 2,
// delta 1e-5, feature_l2_max 1, reward_min -0.5, reward_max 0.5, reward_binary (no, yes),
// reward_stddev 0.05, prior_stddev 0.316. Errors: INVALID_ARGUMENT.
absl::StatusOr<PlanRequest> PlanRequestFromSettings(Settings settings);

}  // namespace bandana::lab

// The policy of a model of points, from its configuration.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "common/bandits/bco/convex_policy.h"
#include "common/bandits/bco/play_factor.h"
#include "common/design/model_spec.h"

namespace bandana {

// The barrier policy on the model's domain. It minimises: a loss is a reward's negation, so its
// feedback is -(released reward), of middle -(middle of the reward range) and of scale
// sqrt((width / 2)^2 + v), v the randomizer's VarianceMax. Requires spec.points. Errors:
// INVALID_ARGUMENT rewards or radius out of proportion: a scale above kScaleMax, or plays whose
// factor could go beyond kPlayFactorMax.
absl::StatusOr<std::unique_ptr<ConvexPolicy>> MakePointsPolicy(const ModelSpec& spec);

}  // namespace bandana

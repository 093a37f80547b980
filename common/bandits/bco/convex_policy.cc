#include "common/bandits/bco/convex_policy.h"

#include <cmath>
#include <utility>

#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana {

absl::Status ConvexPolicy::Apply(std::span<const double> factor, double feedback) {
  if (factor.size() != state_.vector.size()) {
    return InvalidArgument("factor must have ", state_.vector.size(), " entries, got ",
                           factor.size());
  }
  std::vector<double> gradient(factor.begin(), factor.end());
  for (double& g : gradient) {
    g *= feedback - feedback_middle_;
    if (!(std::abs(g) <= 1e100)) return InvalidArgument("factor and feedback must be finite");
  }
  Step(gradient, state_);
  ++state_.events;
  return absl::OkStatus();
}

absl::Status ConvexPolicy::Restore(ConvexState state) {
  if (state.vector.size() != state_.vector.size()) {
    return InvalidArgument("state must have ", state_.vector.size(), " entries, got ",
                           state.vector.size());
  }
  for (const double value : state.vector) {
    if (!std::isfinite(value)) return InvalidArgument("state must be finite");
  }
  if (!Holds(state)) return InvalidArgument("state must be one that events can have");
  state_ = std::move(state);
  return absl::OkStatus();
}

absl::Status ConvexScales::Validate() const {
  if (!(lipschitz > 0 && lipschitz <= kScaleMax)) {
    return InvalidArgument("lipschitz must be in (0, ", kScaleMax, "], got ", lipschitz);
  }
  if (!(smoothness > 0 && smoothness <= kScaleMax)) {
    return InvalidArgument("smoothness must be in (0, ", kScaleMax, "], got ", smoothness);
  }
  if (!(std::abs(feedback_middle) <= kScaleMax)) {
    return InvalidArgument("feedback_middle must be at most ", kScaleMax, " in size, got ",
                           feedback_middle);
  }
  if (!(feedback_scale > 0 && feedback_scale <= kScaleMax)) {
    return InvalidArgument("feedback_scale must be in (0, ", kScaleMax, "], got ", feedback_scale);
  }
  return absl::OkStatus();
}

double NormalizedDifference(double first, double second, double lipschitz, double distance) {
  if (distance == 0) return 0;
  return (first - second) / (lipschitz * distance);
}

}  // namespace bandana

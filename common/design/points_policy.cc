#include "common/design/points_policy.h"

#include <cmath>

#include "common/base/status.h"
#include "common/promise/mechanism.h"

namespace bandana {

absl::StatusOr<std::unique_ptr<ConvexPolicy>> MakePointsPolicy(const ModelSpec& spec) {
  const RewardRange& range = spec.public_spec.reward_range;
  const double variance = spec.public_spec.made->reward_variance();
  const PointsSpec& points = *spec.points;
  const ConvexScales scales = {.smoothness = points.smoothness,
                               .feedback_middle = -range.middle(),
                               .feedback_scale = std::hypot(range.width() / 2, std::sqrt(variance)),
                               .horizon = points.horizon};
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<ConvexPolicy> policy,
                           MakeBarrierPolicy(points.domain, scales));
  if (!(BarrierFactorMax(points.domain, scales) <= kPlayFactorMax)) {
    return InvalidArgument(
        "radius, smoothness and the reward range are out of proportion: the gradient's estimates "
        "would not stay finite");
  }
  return policy;
}

}  // namespace bandana

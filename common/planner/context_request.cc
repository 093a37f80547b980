#include "common/planner/context_request.h"

#include <cmath>

#include "common/design/context_policy.h"
#include "common/design/privacy_rules.h"

namespace bandana {

ContextPlanRequest ContextRequestOf(const ModelSpec& spec) {
  const PublicSpec& p = spec.public_spec;
  const v1::Privacy& privacy = spec.config.privacy();
  const std::uint64_t planned = privacy.planned_events_per_user();
  return {.dimension = p.dimension,
          .context_l2_max = p.feature_l2_max,
          .reward_abs_max = ReportedRewardAbsMax(p),
          .theta_l2_max = spec.theta_l2_max,
          .reward_stddev = std::sqrt(spec.bandit.observation_variance),
          .prior_stddev = std::sqrt(spec.bandit.prior_variance),
          .reports = planned == 0 ? kPlannedEventsDefault : planned,
          .epsilon = p.epsilon,
          .delta = Delta{privacy.delta()}};
}

}  // namespace bandana

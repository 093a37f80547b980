#include "common/planner/joint_plan.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/bandits/joint/joint_choice.h"
#include "common/base/status.h"
#include "common/design/counter_policy.h"
#include "common/design/privacy_rules.h"

namespace bandana {

absl::StatusOr<JointPlan> PlanJoint(const ModelSpec& spec, std::uint64_t planned) {
  const PublicSpec& p = spec.public_spec;
  JointModel::Options options;
  options.counter = {.dimension = p.dimension,
                     .context_l2_max = p.feature_l2_max,
                     .reward_abs_max = RewardAbsMax(p),
                     .epsilon = p.epsilon,
                     .delta = p.delta,
                     .horizon = planned,
                     .step_cap = std::min(2 * planned, kCounterStepsMax)};
  options.reward_stddev = std::sqrt(spec.bandit.observation_variance);
  options.prior_stddev = std::sqrt(spec.bandit.prior_variance);
  options.theta_l2_max = spec.theta_l2_max;
  BANDANA_ASSIGN_OR_RETURN(std::vector<JointPrediction> predictions,
                           PredictJoint(options, planned));
  std::stable_sort(
      predictions.begin(), predictions.end(),
      [](const JointPrediction& a, const JointPrediction& b) { return a.error < b.error; });
  JointPlan plan;
  plan.kind = predictions.front().kind == CounterKind::kBlt ? v1::BLT : v1::EPOCHS;
  plan.text = absl::StrFormat(
      "AUTO: counter (%s) of contexts and rewards\njoint privacy, epsilon %g, delta %g, d = %d, %d "
      "events planned\n",
      ToAbsl(CounterKindName(predictions.front().kind)), p.epsilon.value, p.delta.value,
      p.dimension, planned);
  for (const JointPrediction& one : predictions) {
    absl::StrAppendFormat(&plan.text, "%s counter (%s), predicted error %.4g of |theta|^2\n",
                          &one == &predictions.front() ? "*" : " ",
                          ToAbsl(CounterKindName(one.kind)), one.error);
  }
  return plan;
}

}  // namespace bandana

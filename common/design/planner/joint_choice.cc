#include "common/design/planner/joint_choice.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/bandits/joint/joint_choice.h"
#include "common/base/status.h"
#include "common/design/planner/reward_choice.h"
#include "common/design/privacy_config.h"
#include "common/promise/privacy_rules.h"

namespace bandana {

JointModel::Options JointRequestOf(const ModelSpec& spec, std::uint64_t horizon,
                                   std::uint64_t steps_max) {
  const PublicSpec& p = spec.public_spec;
  JointModel::Options options;
  options.counter = {.dimension = p.dimension,
                     .context_l2_max = p.feature_l2_max,
                     .reward_abs_max = p.reward_range.abs_max(),
                     .epsilon = p.epsilon,
                     .delta = p.delta,
                     .horizon = horizon,
                     .step_cap = steps_max};
  options.reward_stddev = std::sqrt(spec.bandit.observation_variance);
  options.prior_stddev = std::sqrt(spec.bandit.prior_variance);
  options.theta_l2_max = spec.theta_l2_max;
  return options;
}

absl::StatusOr<PlannedMechanism> ChooseJointCounter(const ModelSpec& spec) {
  const PublicSpec& p = spec.public_spec;
  const std::uint64_t planned = PlannedEvents(spec.config.privacy());
  BANDANA_ASSIGN_OR_RETURN(
      std::vector<JointPrediction> predictions,
      PredictJoint(JointRequestOf(spec, planned, std::min(2 * planned, kCounterStepsMax)),
                   planned));
  std::stable_sort(
      predictions.begin(), predictions.end(),
      [](const JointPrediction& a, const JointPrediction& b) { return a.error < b.error; });
  PlannedMechanism choice{.privacy = spec.config.privacy()};
  NameCounter(p.mechanism, predictions.front().kind, planned, choice.privacy);
  choice.text = absl::StrFormat(
      "AUTO: counter (%s) of contexts and rewards\njoint privacy, epsilon %g, delta %g, d = %d, %d "
      "events planned\n",
      ToAbsl(CounterKindName(predictions.front().kind)), p.epsilon.value, p.delta.value,
      p.dimension, planned);
  for (const JointPrediction& one : predictions) {
    absl::StrAppendFormat(&choice.text, "%s counter (%s), predicted error %.4g of |theta|^2\n",
                          &one == &predictions.front() ? "*" : " ",
                          ToAbsl(CounterKindName(one.kind)), one.error);
  }
  return choice;
}

absl::StatusOr<std::string> ExplainJointCounter(const ModelSpec& spec) {
  const CounterSpec& counter = *spec.public_spec.counter;
  BANDANA_ASSIGN_OR_RETURN(
      const std::vector<JointPrediction> predictions,
      PredictJoint(JointRequestOf(spec, counter.horizon, counter.steps_max), counter.horizon));
  std::string text = absl::StrFormat("planned over %d events of one stream:\n", counter.horizon);
  for (const JointPrediction& one : predictions) {
    absl::StrAppendFormat(&text, "  counter (%s), predicted error %.4g of |theta|^2\n",
                          ToAbsl(CounterKindName(one.kind)), one.error);
  }
  return text;
}

}  // namespace bandana

#include "common/bandits/joint/joint_choice.h"

#include <algorithm>
#include <cmath>

#include "common/base/status.h"

namespace bandana {
namespace {

double ErrorAt(const JointModel::Options& options, const JointSums& sums) {
  if (sums.covered == 0) return 1;
  const double d = options.counter.dimension;
  const double theta = options.theta_l2_max * options.theta_l2_max;
  const double context = options.counter.context_l2_max * options.counter.context_l2_max;
  const double known = static_cast<double>(sums.covered) * context / d;
  const double variance = options.reward_stddev * options.reward_stddev * known +
                          sums.moment_variance + sums.gram_variance * theta;
  const double error = d * variance / (known * known * std::max(theta, 1e-12));
  return std::min(error, 1.0);
}

double MeanError(const JointModel::Options& options, const JointCounter& counter,
                 std::uint64_t horizon) {
  double sum = 0;
  for (std::uint64_t t = 1; t <= horizon;) {
    const std::uint64_t next = std::min(t + 1 + t / 100, horizon + 1);
    // Round t is played from what the t - 1 before it released.
    sum += ErrorAt(options, counter.Predict(t - 1)) * static_cast<double>(next - t);
    t = next;
  }
  return sum / static_cast<double>(horizon);
}

}  // namespace

absl::StatusOr<std::vector<JointPrediction>> PredictJoint(const JointModel::Options& options,
                                                          std::uint64_t horizon) {
  if (horizon < 1 || horizon > options.counter.step_cap) {
    return InvalidArgument("horizon must be in [1, step_cap = ", options.counter.step_cap,
                           "], got ", horizon);
  }
  std::vector<JointPrediction> predictions;
  absl::Status refused;
  for (const CounterKind kind : {CounterKind::kEpochs, CounterKind::kBlt}) {
    JointCounter::Options counter_options = options.counter;
    counter_options.kind = kind;
    const absl::StatusOr<JointCounter> counter = JointCounter::Create(counter_options);
    if (counter.ok()) {
      predictions.push_back({kind, MeanError(options, *counter, horizon)});
    } else {
      refused = counter.status();
    }
  }
  if (predictions.empty()) return refused;
  return predictions;
}

absl::StatusOr<CounterKind> ChooseJointCounter(const JointModel::Options& options,
                                               std::uint64_t horizon) {
  BANDANA_ASSIGN_OR_RETURN(const std::vector<JointPrediction> predictions,
                           PredictJoint(options, horizon));
  return std::min_element(
             predictions.begin(), predictions.end(),
             [](const JointPrediction& a, const JointPrediction& b) { return a.error < b.error; })
      ->kind;
}

}  // namespace bandana

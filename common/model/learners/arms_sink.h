// Models without contexts: sums per arm, and the policy that reads them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "common/bandits/mab/arm_policy.h"
#include "common/model/learners/sum_sink.h"

namespace bandana {

// Arms are the d unit vectors. One node holds, where a linear model has S and beta, the number of
// events of each arm on S's diagonal and in beta the sum that the policy reads: of rewards, or for
// Tsallis-INF of (r - c) / p, c the middle of the reward range and p the probability that the arm
// was drawn with (Family::EventReward), so that -beta is the estimated cumulative loss.
//
// Its posterior's mean is the law of the next arm, d probabilities; width and alpha are 0.
// Source: [Z20] Algorithm 1, appendix B. Not thread-safe.
class ArmsSink final : public SumSink {
 public:
  // `variance`: the randomizer's VarianceMax, 0 without one. Errors: INVALID_ARGUMENT the policy's
  // options; DATA_LOSS statistics that no events can have.
  static absl::StatusOr<std::unique_ptr<ArmsSink>> Create(const ModelSpec& spec, double variance,
                                                          std::vector<NodeStatistics> statistics);

  NodePosterior Posterior(int node) const override;
  std::optional<int> best_arm() const override;

 private:
  ArmsSink(const ModelSpec& spec, std::unique_ptr<ArmPolicy> policy, NodeStatistics statistics);
  // Hands the sums to the policy.
  absl::Status Read() const;

  const ModelSpec& spec_;
  const std::unique_ptr<ArmPolicy> policy_;
};

}  // namespace bandana

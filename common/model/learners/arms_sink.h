// Models without contexts: sums an arm, and the policy that reads them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/bandits/mab/arm_policy.h"
#include "common/model/learners/sum_sink.h"

namespace bandana {

// Arms are the d unit vectors. One node holds, where a linear model has S and beta, the number of
// events of each arm on S's diagonal and in beta the sum that the policy reads: of rewards, or for
// Tsallis-INF of (r - c) / p, c the middle of the reward range and p the probability that the arm
// was drawn with (ArmReward), so that -beta is the estimated cumulative loss.
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

// Least probability of a drawn arm that a token may say: Tsallis-INF divides by it.
inline constexpr double kArmProbabilityMin = 0x1p-60;

// What an event of an arms model adds to its sum: the reward, or for Tsallis-INF what the class
// comment says. `probability` is in [kArmProbabilityMin, 1].
double ArmReward(const ModelSpec& spec, double reward, double probability);

// The arm that the d features name, -1 unless they are a unit vector.
int ArmOf(std::span<const double> features);

}  // namespace bandana

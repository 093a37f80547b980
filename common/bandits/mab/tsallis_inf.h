// Tsallis-INF: one policy that is optimal against an adversary and in a stochastic world.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bandits/mab/arm_policy.h"

namespace bandana {

// The probabilities of follow-the-regularised-leader with the Tsallis entropy of alpha = 1/2:
//   w_i = 4 (rate (L_i - x))^-2, x < min L the number for which they sum to 1.
// With z_i = rate (L_i - min L) / 2 >= 0 and y = rate (min L - x) / 2 that is sum (z_i + y)^-2 = 1,
// solved for y in [1, sqrt(K)] by Newton's method from y = 1: the left side is convex and falling,
// so the iterates rise to the root and never pass it. Requires losses.size() >= 1, finite, rate >
// 0. Cost: about 6 iterations of K divisions.
// Source: [ZS21].
void TsallisProbabilities(std::span<const double> losses, double rate, std::vector<double>& out);

// Reduced-variance importance weighting, learning rate 2 / (s sqrt(t)) in round t: anytime. With c
// the middle of the reward range, an arm of probability w that is shown and gives r adds (c - r) /
// w to its cumulative loss. Where w < 16 / t a large reward would throw the weights about, so there
// it adds (c + m - r) / w >= 0, and every such arm loses m per round, shown or not: the same
// expectation. For released rewards s and m grow with the noise, which is all that [Z20] Algorithm
// 1 changes: regret is O(s sqrt(K T)).
//
// The present state says which arms lose m. For events that arrive late it was not quite the same
// when they were drawn; each time an arm changed sides the difference is of order m.
// Source: [ZS21] (s = m = 1/2 is theirs); [Z20] Algorithm 1 and appendix B.1.
class TsallisInf final : public ArmPolicy {
 public:
  struct Options {
    int arms = 0;              // [1, kPolicyArmsMax]
    double reward_middle = 0;  // c; |c| <= kRewardAbsMax
    double reward_scale = 1;   // s: a bound of sqrt(E (r - c)^2), r as applied; (0, kRewardAbsMax]
    double reward_excess = 1;  // m: r - c <= m, but for rare large noise; (0, kRewardAbsMax]
  };
  // Errors: INVALID_ARGUMENT.
  static absl::StatusOr<std::unique_ptr<TsallisInf>> Create(const Options& options);

  void Probabilities(std::vector<double>& out) const override { out = weights_; }

 private:
  explicit TsallisInf(const Options& options);
  // Cost: O(K), and the solver.
  void Update(const ArmEvent& event, std::vector<ArmStatistics>& statistics) const override;
  void Refresh() override;
  double ShiftedBelow() const;
  Options options_;
  std::vector<double> weights_;  // of the present state
};

}  // namespace bandana

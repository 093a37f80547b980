// Best-arm identification with fixed confidence.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bandits/mab/arm_policy.h"

namespace bandana {

// lil'UCB: shows the arm with the largest
//   mean + (1 + beta)(1 + sqrt(e)) sqrt(2 v (1 + e) ln(ln((1 + e) n) / delta) / n)
// and stops when every arm has an event and one has n_i >= 1 + lambda sum of the others; its
// decision is that arm. v makes rewards v-sub-Gaussian: for released rewards
// LossMechanism::VarianceProxy, which is all that [Z20] Algorithm 1 changes. Events that were
// under way at the stop may take the decision back; those after it go to the decision alone.
//
//   kTheory     e = 0.01, beta = 1, lambda = 9, delta = ((sqrt(1 + nu) - 1) / 2)^2 / c_e, c_e =
//               (2 + e)/e (1 / ln(1 + e))^(1 + e): wrong with probability at most nu
//   kHeuristic  e = 0, beta = 1/2, lambda = 1 + 10 / K, delta = nu: no theorem, far fewer events
// Source: [JMNB14]; [Z20] appendix B.2.
class LilUcb final : public ArmPolicy {
 public:
  enum class Variant { kTheory, kHeuristic };
  struct Options {
    int arms = 0;                      // [1, kPolicyArmsMax]
    double variance_proxy = 0.25;      // v; (0, kRewardAbsMax^2]
    double failure_probability = 0.1;  // nu, (0, 1)
    Variant variant = Variant::kHeuristic;
  };
  // Errors: INVALID_ARGUMENT.
  static absl::StatusOr<std::unique_ptr<LilUcb>> Create(const Options& options);

  // After the stop all of it lies on the decision.
  void Probabilities(std::vector<double>& out) const override;
  // The best arm, once it is certain enough; a single arm is at once. A function of the statistics.
  std::optional<int> Decision() const;

 private:
  explicit LilUcb(const Options& options);
  void Update(const ArmEvent& event, std::vector<ArmStatistics>& statistics) const override {
    statistics[event.arm].sum += event.reward;
  }
  Options options_;
  double e_;
  double beta_;
  double lambda_;
  double log_inverse_delta_;
};

}  // namespace bandana

// Policies for a stochastic world that show the arm with the largest upper confidence bound.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bandits/mab/arm_policy.h"

namespace bandana {

// kl(p, q) of Bernoulli laws, p, q in [0, 1]; infinite where q excludes what p has.
double BernoulliDivergence(double p, double q);

// The largest q in [p, 1] with kl(p, q) <= level: the index of KL-UCB. By Newton's method from the
// right, from Pinsker's bound or the divergence's own near 1, whichever is less: kl is convex in q,
// so no iterate passes the root. Requires p in [0, 1], level >= 0. Error below 1e-9.
double KlUpperBound(double p, double level);

// KL-UCB on values in [low, high], scaled to [0, 1], or UCB by a sub-Gaussian bound:
//   kBernoulliKl   max q: n kl(mean, q) <= ln t + c ln ln t
//   kSubGaussian   mean + sqrt(2 v (ln t + c ln ln t) / n)
// t the events, n the arm's. Arms without events come first. Equal indices share the probability.
//
// For rewards behind randomized response (low, high) are its two outputs: its bit is Bernoulli
// with mean q = 1/2 + (2 p - 1)/(2 c), c = (e^eps + 1)/(e^eps - 1), the same rising function of p
// for all arms, so that the largest index of q is that of p: KL-UCB pays (2 c)^2 kl at most, the
// least that any private policy can. For a Gaussian take kSubGaussian with v = B^2/4 + sigma^2.
// Source: [GC11]; [ACF02] for UCB1 (v = 1/4, ln t four times);
// [Z20] appendix B.1.
class IndexPolicy final : public ArmPolicy {
 public:
  enum class Kind { kBernoulliKl, kSubGaussian };
  struct Options {
    int arms = 0;  // [1, kPolicyArmsMax]
    Kind kind = Kind::kBernoulliKl;
    double value_low = 0;  // kBernoulliKl: every applied reward lies in [low, high], clipped to it
    double value_high = 1;
    double variance_proxy = 0.25;  // kSubGaussian: v; (0, kRewardAbsMax^2]
    double log_log_weight = 0;     // c, [0, 10]: 3 for the theorem, 0 better in practice
  };
  // Errors: INVALID_ARGUMENT.
  static absl::StatusOr<std::unique_ptr<IndexPolicy>> Create(const Options& options);

  void Probabilities(std::vector<double>& out) const override;
  // Upper confidence bound of an arm, reward units; infinite without events. May exceed the range
  // of the rewards before they were released. Requires arm in [0, arms()).
  double Index(int arm) const;

 private:
  explicit IndexPolicy(const Options& options) : ArmPolicy(options.arms), options_(options) {}
  void Update(const ArmEvent& event, std::vector<ArmStatistics>& statistics) const override;
  double Bonus() const;
  double IndexOf(const ArmStatistics& arm, double bonus) const;
  Options options_;
};

}  // namespace bandana

// The Gaussian mechanism on one bounded number: a loss, or a difference of two.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/mechanisms/gaussian_mechanism.h"
#include "common/mechanisms/guarantee.h"
#include "common/mechanisms/reward_randomizer.h"
#include "common/mechanisms/statistics_chain.h"
#include "common/random/bit_source.h"

namespace bandana {

// Clips a number to its range, puts it on a grid of N steps and adds one discrete Gaussian of
// sensitivity N: sigma = width / mu(epsilon, delta), the least that the analytic curve [BW18]
// allows. [Z20] Algorithm 1 prints width sqrt(2 ln(1.25 / delta)) / epsilon: proven for epsilon < 1
// alone, larger up to epsilon 9 at delta 1e-5, too small beyond. N is chosen so that sigma is about
// 2^25 grid steps.
//
// Privacy:  (epsilon, delta)-differentially private in the number, replaced by any other, or
//           missing. Proof: docs/privacy/scalar_loss.md.
// Threads:  immutable, const methods are safe, given a source each.
// Cost:     one discrete Gaussian, about 12 words.
class ScalarGaussian {
 public:
  struct Options {
    Epsilon epsilon;    // (0, kEpsilonResearchMax]
    Delta delta;        // (0, 1)
    RewardRange range;  // enforced
  };
  // Errors: INVALID_ARGUMENT options; an epsilon so small or so large that no grid serves it.
  static absl::StatusOr<ScalarGaussian> Create(const Options& options);

  const MechanismDescriptor& descriptor() const { return mechanism_.descriptor(); }
  // As GaussianMechanism's: composes without slack.
  PrivacyCost ComposedCost() const { return mechanism_.ComposedCost(); }

  // Missing and NaN become `default_value` (itself clipped; a NaN default is range.min), out of
  // range moves to the bound, the rest to the nearest step.
  ClippedStatistics Clip(const RawReward& value, double default_value) const;
  // The caller has debited the cost durably before. Errors: UNAVAILABLE entropy failed, nothing
  // returned.
  absl::StatusOr<PerturbedStatistics> Perturb(const ClippedStatistics& value,
                                              BitSource& bits) const {
    return mechanism_.Perturb(value, bits);
  }

  // The number that a released integer stands for, in the units of the range: unbiased for the
  // clipped number, rounded to the grid (by at most width / 2 N).
  double Value(std::int64_t released) const;
  // sigma^2 in those units.
  double Variance() const;
  // N.
  std::int64_t steps() const { return steps_; }

 private:
  ScalarGaussian(const Options& options, GaussianMechanism mechanism, std::int64_t steps);
  Options options_;
  GaussianMechanism mechanism_;
  std::int64_t steps_;
};

}  // namespace bandana

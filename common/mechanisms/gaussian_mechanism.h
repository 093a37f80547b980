// The Gaussian mechanism on integer vectors, exactly sampled and analytically calibrated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/mechanisms/guarantee.h"
#include "common/mechanisms/statistics_chain.h"
#include "common/random/bit_source.h"
#include "common/random/discrete_gaussian.h"

namespace bandana {

// Adds an independent discrete Gaussian to each coordinate. (epsilon, delta)-differentially private
// for statistics of the stated L2 sensitivity, replacement neighbours. sigma = sensitivity / mu,
// with mu from the analytic curve [BW18] at delta less the discretisation slack; sigma^2 is rounded
// up to an integer. Proof: docs/privacy/joint_gaussian.md.
// Immutable. Threads: const methods are safe, given a source each.
class GaussianMechanism {
 public:
  struct Options {
    Epsilon epsilon;            // (0, kEpsilonResearchMax]
    Delta delta;                // (0, 1)
    std::size_t size = 0;       // coordinates, [1, 2^20]
    L2Sensitivity sensitivity;  // in grid steps, [1, 2^40]
  };
  // Errors: INVALID_ARGUMENT options out of range; sigma beyond 2^26 grid steps or so small that
  // the slack uses delta up: the grid does not suit this epsilon.
  static absl::StatusOr<GaussianMechanism> Create(const Options& options);

  // Sensitivity in L2; cost is mu with the distance from a continuous Gaussian.
  const MechanismDescriptor& descriptor() const { return descriptor_; }
  // rho = sensitivity^2 / (2 sigma^2): exact for the discrete Gaussian, composes without that
  // distance.
  PrivacyCost ComposedCost() const;
  std::uint64_t sigma_squared() const { return noise_.sigma_squared(); }

  // The caller has debited the cost durably before. Errors: INVALID_ARGUMENT the statistics have
  // another size or a larger sensitivity, nothing drawn; UNAVAILABLE entropy failed, nothing
  // returned.
  absl::StatusOr<PerturbedStatistics> Perturb(const ClippedStatistics& statistics,
                                              BitSource& bits) const;

 private:
  GaussianMechanism(const Options& options, DiscreteGaussian noise, TotalVariation variation);
  Options options_;
  DiscreteGaussian noise_;
  MechanismDescriptor descriptor_;
};

}  // namespace bandana

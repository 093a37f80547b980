// The Laplace mechanism on integer vectors, exactly sampled: pure epsilon.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/mechanisms/guarantee.h"
#include "common/mechanisms/statistics_chain.h"
#include "common/random/bit_source.h"

namespace bandana {

// Adds an independent discrete Laplace of scale t = ceil(sensitivity / epsilon) to each coordinate.
// epsilon-differentially private for statistics of the stated L1 sensitivity: the L1 norm, up to
// sqrt(size) times the L2 one, is what noise by coordinates needs.
// Proof: docs/privacy/laplace.md. Immutable. Threads: const methods are safe, given a source each.
class LaplaceMechanism {
 public:
  struct Options {
    Epsilon epsilon;            // (0, kEpsilonResearchMax]
    std::size_t size = 0;       // coordinates, [1, 2^20]
    L1Sensitivity sensitivity;  // in grid steps, [1, 2^50]
  };
  // Errors: INVALID_ARGUMENT options out of range, or a scale above 2^50 grid steps.
  static absl::StatusOr<LaplaceMechanism> Create(const Options& options);

  // Sensitivity in L1; cost is pure epsilon.
  const MechanismDescriptor& descriptor() const { return descriptor_; }
  std::uint64_t scale() const { return scale_; }  // t, grid steps

  // The caller has debited the cost durably before. Errors: INVALID_ARGUMENT the statistics have
  // another size or a larger sensitivity, nothing drawn; UNAVAILABLE entropy failed, nothing
  // returned.
  absl::StatusOr<PerturbedStatistics> Perturb(const ClippedStatistics& statistics,
                                              BitSource& bits) const;

 private:
  LaplaceMechanism(const Options& options, std::uint64_t scale);
  Options options_;
  std::uint64_t scale_;
  MechanismDescriptor descriptor_;
};

}  // namespace bandana

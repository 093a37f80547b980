// The discrete Gaussian, exactly.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/random/bit_source.h"
#include "common/random/samplers.h"

namespace bandana {

// P(z) proportional to exp(-z^2 / (2 sigma^2)) on all integers. [CKS20] Algorithm 3 with Laplace
// scale 2^k near sigma: any scale gives the same law, a power of two keeps every quantity an
// integer that 128 bits hold. Variance at most sigma^2.
//
// Immutable. Threads: const methods are safe, given a source each. Cost: about 12 words per sample.
// Proof: docs/privacy/discrete_gaussian.md.
class DiscreteGaussian {
 public:
  // sigma^2 in grid steps squared, in [1, kSigmaSquaredMax]: then k <= 26.
  static constexpr std::uint64_t kSigmaSquaredMax = (std::uint64_t{1} << 53) - 1;
  // Errors: INVALID_ARGUMENT sigma_squared out of range.
  static absl::StatusOr<DiscreteGaussian> Create(std::uint64_t sigma_squared);

  std::uint64_t sigma_squared() const { return sigma_squared_; }
  // One draw, |z| < 4096 2^k <= 2^38. A larger draw has probability below e^-4096: it answers
  // UNAVAILABLE, it is never clipped. Errors: UNAVAILABLE, also when the source failed.
  absl::StatusOr<std::int64_t> Sample(BitSource& bits) const;

  // A Laplace draw of this magnitude is kept with probability exp(-x), x = (magnitude - sigma^2 /
  // 2^k)^2 / (2 sigma^2). Requires 0 <= magnitude < 4096 2^k.
  ExactRatio Rejection(std::int64_t magnitude) const;
  // k; sigma^2 lies in [4^k / 2, 2 4^k).
  int log2_scale() const { return log2_scale_; }

 private:
  explicit DiscreteGaussian(std::uint64_t sigma_squared);
  std::uint64_t sigma_squared_;
  int log2_scale_;
};

}  // namespace bandana

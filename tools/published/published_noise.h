// Noise on vectors as papers print it, to reproduce them. Labelled `published`: not a guarantee.
#pragma once

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/mechanisms/guarantee.h"
#include "common/random/bit_source.h"

namespace bandana {

enum class PublishedNoiseKind {
  kCoordinateLaplace,  // [WZ20] as printed: independent Laplace(Delta_2 / eps) coordinates
  kL2Norm,  // its sound reading: density proportional to exp(-eps |eta|_2 / Delta_2), that is a
            // uniform direction with radius Gamma(size, Delta_2 / eps)
};

// Draws noise for a vector of `size` coordinates and L2 sensitivity Delta_2.
//
// Privacy:  label `published`. kCoordinateLaplace is not epsilon-private at all for size > 1: it
//           needs the L1 sensitivity, up to sqrt(size) larger. kL2Norm would be in real numbers,
//           but doubles leak through their gaps. docs/privacy/published.md.
// Threads:  immutable, const methods are safe, given a source each.
// Cost:     Sample 60 ns per coordinate and 0.5 us.
// Source:   [WZ20] Algorithms 1 and 2.
class PublishedNoise {
 public:
  struct Options {
    PublishedNoiseKind kind = PublishedNoiseKind::kL2Norm;
    Epsilon epsilon;            // as the paper states it, [1e-9, kEpsilonResearchMax]
    std::size_t size = 0;       // coordinates, [1, 2^20]
    L2Sensitivity sensitivity;  // Delta_2 in the units of the vector, [1e-100, 1e100]
  };
  // Errors: INVALID_ARGUMENT an option out of range.
  static absl::StatusOr<PublishedNoise> Create(const Options& options);

  // The cost is what the paper claims; sensitivity in the vector's units.
  const MechanismDescriptor& descriptor() const { return descriptor_; }
  // Delta_2 / eps.
  double scale() const { return options_.sensitivity.value / options_.epsilon.value; }

  // Overwrites `noise` with one draw, the same for the same bytes of `bits`, which it reads in runs
  // of 512. Requires noise.size() == size. Errors: UNAVAILABLE the source failed; `noise` must not
  // be used.
  absl::Status Sample(std::span<double> noise, BitSource& bits) const;

 private:
  explicit PublishedNoise(const Options& options);
  Options options_;
  MechanismDescriptor descriptor_;
};

}  // namespace bandana

// Random symmetric matrices that [SS18] adds to (x, r)(x, r)^T, labelled `published`. One draw is
// the noise of one tree node. Matrices are packed: the lower triangle row by row, p (p + 1) / 2
// numbers.
#pragma once

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "common/random/bit_source.h"

namespace bandana {

// W_p(variance I, k): the sum of k outer products of independent N(0, variance I_p). By Bartlett's
// decomposition, O(p^3) whatever k is. Overwrites `packed`. Requires p >= 1, p + 1 <= k <= 2^40,
// variance > 0 finite, packed.size() == p (p + 1) / 2. Errors: UNAVAILABLE the source failed;
// `packed` must not be used.
absl::Status SampleWishart(int p, std::uint64_t k, double variance, std::span<double> packed,
                           BitSource& bits);

// (Z + Z^T) / sqrt(2), Z of independent N(0, sigma^2): standard deviation sigma beside the
// diagonal, sqrt(2) sigma on it. Requires p >= 1, sigma > 0 finite, packed.size() as above. Errors:
// as above.
absl::Status SampleSymmetricGaussian(int p, double sigma, std::span<double> packed,
                                     BitSource& bits);

}  // namespace bandana

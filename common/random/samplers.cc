#include "common/random/samplers.h"

#include <bit>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana {

absl::StatusOr<std::uint64_t> UniformBelow(std::uint64_t n, BitSource& bits) {
  BANDANA_CHECK(n >= 1);
  if (n == 1) return std::uint64_t{0};
  // The smallest 2^k - 1 >= n - 1. Each masked word is accepted with probability above 1/2, and an
  // accepted one is uniform.
  const std::uint64_t mask = ~std::uint64_t{0} >> std::countl_zero(n - 1);
  constexpr int kAttemptsMax = 256;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    BANDANA_ASSIGN_OR_RETURN(const std::uint64_t word, bits.NextWord());
    if ((word & mask) < n) return word & mask;
  }
  return Unavailable("entropy: the generator is stuck");
}

absl::StatusOr<bool> Bernoulli(std::uint64_t numerator, std::uint64_t denominator,
                               BitSource& bits) {
  BANDANA_CHECK(denominator >= 1);
  BANDANA_CHECK(numerator <= denominator);
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t draw, UniformBelow(denominator, bits));
  return draw < numerator;
}

}  // namespace bandana

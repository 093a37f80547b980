// Exact discrete samplers: the law is the stated one, with no rounding, given independent uniform
// bits.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/random/bit_source.h"

namespace bandana {

// Uniform on {0, .., n - 1}, by rejection of masked words: fewer than two words on average. The
// number of words drawn does not depend on anything but the bits and n. Requires n >= 1. Errors:
// UNAVAILABLE the source failed, or 256 words in a row were rejected (a healthy source: below
// 2^-256).
absl::StatusOr<std::uint64_t> UniformBelow(std::uint64_t n, BitSource& bits);

// True with probability numerator / denominator. Requires 0 <= numerator <= denominator,
// denominator >= 1. Errors: as UniformBelow.
absl::StatusOr<bool> Bernoulli(std::uint64_t numerator, std::uint64_t denominator, BitSource& bits);

}  // namespace bandana

// Exact discrete samplers: the law is the stated one, with no rounding, given independent uniform
// bits. Integers only; no floating point takes part.
//
// Every loop is bounded, so that a stuck source ends in UNAVAILABLE and not in an endless loop.
// With ideal bits a draw meets a bound with probability below 2^-256. A total variation distance to
// the ideal law has to include that.
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

// The rational numerator / (factor 2^shift) >= 0.
struct ExactRatio {
  unsigned __int128 numerator = 0;
  std::uint64_t factor = 1;  // >= 1
  int shift = 0;             // [0, 63]
  // The denominator; below 2^127, so that it has a sign bit to spare.
  unsigned __int128 denominator() const { return static_cast<unsigned __int128>(factor) << shift; }
};

// True with probability exp(-x). [CKS20] Algorithm 1, with each Bernoulli(g / K) drawn as two
// independent events Bernoulli(g) and Bernoulli(1 / K): the same law, and no rational is ever
// formed or reduced. Integer parts are taken off x one factor exp(-1) at a time, by subtraction;
// the first failure ends it, so 1.6 of them on average however large x is. Errors: UNAVAILABLE the
// source failed or is stuck.
absl::StatusOr<bool> BernoulliExp(const ExactRatio& x, BitSource& bits);

// Scale of a discrete exponential law: numerator / denominator, each in [1, kTermMax].
struct ExactScale {
  static constexpr std::uint64_t kTermMax = std::uint64_t{1} << 50;
  std::uint64_t numerator = 1;
  std::uint64_t denominator = 1;
};

// Geometric on 0, 1, 2, .. with P(v) proportional to exp(-v / scale). [CKS20] Algorithm 2 without
// its sign. Requires both terms in range. The result is below 2^62: beyond 4096 numerator /
// denominator, an event of probability e^-4096, the draw answers UNAVAILABLE; it is never clipped.
absl::StatusOr<std::int64_t> Geometric(const ExactScale& scale, BitSource& bits);

// Discrete Laplace: P(y) proportional to exp(-|y| / scale) on all integers. [CKS20] Algorithm 2.
// |result| < 2^62 and errors as Geometric.
absl::StatusOr<std::int64_t> DiscreteLaplace(const ExactScale& scale, BitSource& bits);

}  // namespace bandana

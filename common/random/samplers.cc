#include "common/random/samplers.h"

#include <bit>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana {
namespace {

using Uint128 = unsigned __int128;

// Each attempt of a rejection loop below succeeds with probability at least 0.36: 0.64^4096 <
// 2^-2600.
constexpr int kDiscreteAttemptsMax = 4096;
// P(run of exp(-1) trials longer than this) = e^-4096 < 2^-5900.
constexpr int kRunMax = 4096;
// P(K > 256) <= 1 / 256! < 2^-1680.
constexpr std::uint64_t kFactorialMax = 256;

// PROOF: discrete_gaussian begin
// exp(-1): the first K at which Bernoulli(1 / K) fails, counted from K = 1, is odd with probability
// 1 - 1 + 1/2! - 1/3! + ..
absl::StatusOr<bool> BernoulliExpOne(BitSource& bits) {
  for (std::uint64_t k = 2; k <= kFactorialMax; ++k) {
    BANDANA_ASSIGN_OR_RETURN(const std::uint64_t draw, UniformBelow(k, bits));
    if (draw != 0) return k % 2 == 1;
  }
  return StuckEntropy();
}

// True with probability g, 0 < g < 1.
absl::StatusOr<bool> BernoulliRatio(const ExactRatio& g, BitSource& bits) {
  // A uniform U below factor 2^shift is u 2^shift + v; v matters only where u ties.
  const auto whole = static_cast<std::uint64_t>(g.numerator >> g.shift);
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t u, UniformBelow(g.factor, bits));
  if (u != whole) return u < whole;
  const auto rest = static_cast<std::uint64_t>(g.numerator - (Uint128{whole} << g.shift));
  if (rest == 0) return false;
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t v, bits.NextBits(g.shift));
  return v < rest;
}

// True with probability exp(-g), 0 <= g < 1.
absl::StatusOr<bool> BernoulliExpBelowOne(const ExactRatio& g, BitSource& bits) {
  if (g.numerator == 0) return true;
  for (std::uint64_t k = 1; k <= kFactorialMax; ++k) {
    BANDANA_ASSIGN_OR_RETURN(const bool ratio, BernoulliRatio(g, bits));
    if (!ratio) return k % 2 == 1;
    BANDANA_ASSIGN_OR_RETURN(const std::uint64_t draw, UniformBelow(k, bits));
    if (draw != 0) return k % 2 == 1;
  }
  return StuckEntropy();
}

// Successes of exp(-1) before the first failure.
absl::StatusOr<int> ExpOneRun(BitSource& bits) {
  for (int run = 0; run < kRunMax; ++run) {
    BANDANA_ASSIGN_OR_RETURN(const bool again, BernoulliExpOne(bits));
    if (!again) return run;
  }
  return StuckEntropy();
}

}  // namespace

absl::StatusOr<std::uint64_t> UniformBelow(std::uint64_t n, BitSource& bits) {
  BANDANA_CHECK(n >= 1);
  if (n == 1) return std::uint64_t{0};
  // The smallest 2^k - 1 >= n - 1. Each draw of k bits is accepted with probability above 1/2, and
  // an accepted one is uniform.
  const int width = std::bit_width(n - 1);
  constexpr int kRejectedMax = 256;
  for (int attempt = 0; attempt < kRejectedMax; ++attempt) {
    BANDANA_ASSIGN_OR_RETURN(const std::uint64_t word, bits.NextBits(width));
    if (word < n) return word;
  }
  return StuckEntropy();
}

absl::StatusOr<bool> Bernoulli(std::uint64_t numerator, std::uint64_t denominator,
                               BitSource& bits) {
  BANDANA_CHECK(denominator >= 1);
  BANDANA_CHECK(numerator <= denominator);
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t draw, UniformBelow(denominator, bits));
  return draw < numerator;
}

absl::StatusOr<bool> BernoulliExp(const ExactRatio& x, BitSource& bits) {
  BANDANA_CHECK(x.factor >= 1);
  BANDANA_CHECK(0 <= x.shift && x.shift < 63);
  const Uint128 one = x.denominator();
  ExactRatio rest = x;
  for (int taken = 0; rest.numerator >= one; ++taken) {
    if (taken == kRunMax) return StuckEntropy();
    BANDANA_ASSIGN_OR_RETURN(const bool on, BernoulliExpOne(bits));
    if (!on) return false;
    rest.numerator -= one;
  }
  return BernoulliExpBelowOne(rest, bits);
}

absl::StatusOr<std::int64_t> Geometric(const ExactScale& scale, BitSource& bits) {
  const std::uint64_t t = scale.numerator;
  BANDANA_CHECK(1 <= t && t <= ExactScale::kTermMax);
  BANDANA_CHECK(1 <= scale.denominator && scale.denominator <= ExactScale::kTermMax);
  for (int attempt = 0; attempt < kDiscreteAttemptsMax; ++attempt) {
    BANDANA_ASSIGN_OR_RETURN(const std::uint64_t u, UniformBelow(t, bits));
    BANDANA_ASSIGN_OR_RETURN(const bool keep, BernoulliExp({.numerator = u, .factor = t}, bits));
    if (!keep) continue;
    BANDANA_ASSIGN_OR_RETURN(const int v, ExpOneRun(bits));
    // x = u + t v has P(x) proportional to exp(-x / t); below 2^50 2^12.
    return static_cast<std::int64_t>((u + t * static_cast<std::uint64_t>(v)) / scale.denominator);
  }
  return StuckEntropy();
}

absl::StatusOr<std::int64_t> DiscreteLaplace(const ExactScale& scale, BitSource& bits) {
  for (int attempt = 0; attempt < kDiscreteAttemptsMax; ++attempt) {
    BANDANA_ASSIGN_OR_RETURN(const std::uint64_t negative, bits.NextBits(1));
    BANDANA_ASSIGN_OR_RETURN(const std::int64_t magnitude, Geometric(scale, bits));
    // Zero has two signs: one of them is rejected.
    if (negative == 0) return magnitude;
    if (magnitude != 0) return -magnitude;
  }
  return StuckEntropy();
}
// PROOF: discrete_gaussian end

}  // namespace bandana

#include "common/mechanisms/likelihood_ratio.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "common/base/check.h"

namespace bandana {

double LikelihoodRatio::Approximate() const {
  return std::ldexp(static_cast<double>(numerator), -kFractionBits);
}

// PROOF: reward_randomizer begin
LikelihoodRatio LargestRatio(Epsilon epsilon) {
  using Uint128 = unsigned __int128;
  constexpr Uint128 kLargest =
      Uint128{1} << (LikelihoodRatio::kIntegerBitsMax + LikelihoodRatio::kFractionBits);
  BANDANA_CHECK(epsilon.value >= 0);
  if (epsilon.value >= 20.8) return {kLargest};  // 2^30 < e^20.8

  // x = epsilon / 32 < 0.65 in units of 2^-64, rounded down.
  constexpr int kSquarings = 5;
  const auto x = static_cast<std::uint64_t>(std::ldexp(epsilon.value, 64 - kSquarings));
  // e^x >= the partial sums of its series; all terms are positive and each is rounded down.
  Uint128 sum = 0;
  Uint128 term = Uint128{1} << 64;
  for (std::uint64_t k = 1; term > 0; ++k) {
    sum += term;
    term = (term * x >> 64) / k;
  }
  // e^x in [1, 2) as mantissa 2^-63, mantissa in [2^63, 2^64); then e^epsilon = (e^x)^32 by
  // squaring.
  auto mantissa = static_cast<std::uint64_t>(sum >> 1);
  int exponent = 0;
  for (int i = 0; i < kSquarings; ++i) {
    const Uint128 square = Uint128{mantissa} * mantissa;
    const int carry = static_cast<int>(square >> 127);
    mantissa = static_cast<std::uint64_t>(square >> (63 + carry));
    exponent = 2 * exponent + carry;
  }
  const int shift = exponent + LikelihoodRatio::kFractionBits - 63;
  const Uint128 ratio = shift >= 0 ? Uint128{mantissa} << shift : Uint128{mantissa} >> -shift;
  return {std::min(ratio, kLargest)};
}
// PROOF: reward_randomizer end

}  // namespace bandana

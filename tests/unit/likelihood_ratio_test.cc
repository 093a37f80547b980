#include "common/mechanisms/likelihood_ratio.h"

#include <gtest/gtest.h>

#include <cmath>

namespace bandana {
namespace {

long double Value(const LikelihoodRatio& ratio) {
  return std::ldexp(static_cast<long double>(ratio.numerator), -LikelihoodRatio::kFractionBits);
}

// expl has a 64-bit significand: its own error is below 2^-60.
TEST(LargestRatioTest, IsBelowTheExponentialAndNearIt) {
  for (int i = 0; i <= 20'790; ++i) {
    const double epsilon = i * 1e-3 + 1e-7;
    const long double exact = std::exp(static_cast<long double>(epsilon));
    const long double ratio = Value(LargestRatio({epsilon}));
    ASSERT_LE(ratio, exact * (1 + 0x1p-60L)) << epsilon;
    ASSERT_GE(ratio, exact * (1 - 0x1p-48L)) << epsilon;
  }
}

TEST(LargestRatioTest, SmallEpsilonKeepsItsDigits) {
  for (const double epsilon : {1e-6, 1e-5, 1e-4}) {
    const long double excess = Value(LargestRatio({epsilon})) - 1;
    EXPECT_LE(excess, std::expm1(static_cast<long double>(epsilon)));
    EXPECT_GE(excess, std::expm1(static_cast<long double>(epsilon)) - 0x1p-48L);
  }
}

TEST(LargestRatioTest, ZeroIsOneAndLargeStopsAtTwoToThe30) {
  EXPECT_EQ(Value(LargestRatio({0})), 1);
  EXPECT_LT(Value(LargestRatio({20.79})), 0x1p30L);
  for (const double epsilon : {20.795, 20.8, 25.0, 1000.0}) {
    EXPECT_EQ(Value(LargestRatio({epsilon})), 0x1p30L) << epsilon;
  }
}

TEST(LargestRatioTest, GrowsWithEpsilon) {
  for (double epsilon = 1e-6; epsilon < 30; epsilon *= 1.01) {
    EXPECT_LE(Value(LargestRatio({epsilon})), Value(LargestRatio({epsilon * 1.01})));
  }
}

// Device and server must agree on them for ever: floor(e 2^50) and floor(e^2 2^50), computed in 50
// digits.
TEST(LargestRatioTest, BitsAreFixed) {
  EXPECT_EQ(static_cast<std::uint64_t>(LargestRatio({1}).numerator), 3060513257434036);
  EXPECT_EQ(static_cast<std::uint64_t>(LargestRatio({2}).numerator), 8319337573440941);
}

}  // namespace
}  // namespace bandana

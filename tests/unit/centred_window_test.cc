#include "common/mechanisms/centred_window.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace bandana {
namespace {

constexpr RewardRange kRange{-0.5, 0.5};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(CentredWindow, IsTheMeanAndItsDeviations) {
  // k = 3/4 + 2/4 at epsilon 2; sqrt(0.03^2 + 0.04^2) = 0.05.
  const RewardRange window = CentredWindow(kRange, 0.1, 0.03, 0.04, Epsilon{2});
  EXPECT_NEAR(window.min, 0.1 - 1.25 * 0.05, 1e-15);
  EXPECT_NEAR(window.max, 0.1 + 1.25 * 0.05, 1e-15);
  EXPECT_NEAR(CentredWindow(kRange, 0, 0.1, 0, Epsilon{0.1}).max, 0.1, 1e-15);  // k = 1
  EXPECT_NEAR(CentredWindow(kRange, 0, 0.1, 0, Epsilon{20}).max, 0.3, 1e-15);   // k = 3
}

TEST(CentredWindow, StaysInsideTheRangeAndIsNeverEmpty) {
  for (const double mean :
       {-kInfinity, -1e300, -3.0, -0.5, 0.0, 0.49, 0.5, 7.0, kInfinity, std::nan("")}) {
    for (const double width : {0.0, 1e-300, 0.01, 5.0, 1e300, kInfinity, std::nan("")}) {
      for (const double stddev : {1e-200, 0.05, 1e6}) {
        const RewardRange window = CentredWindow(kRange, mean, width, stddev, Epsilon{1});
        EXPECT_TRUE(IsWindowOf(kRange, window)) << mean << " " << width << " " << stddev;
      }
    }
  }
  const RewardRange huge{-1e9, 1e9};
  EXPECT_TRUE(IsWindowOf(huge, CentredWindow(huge, 1e9, 0, 1e-9, Epsilon{1})));
}

TEST(CentredWindow, ChecksAWindow) {
  EXPECT_TRUE(IsWindowOf(kRange, kRange));
  EXPECT_FALSE(IsWindowOf(kRange, {-0.6, 0}));
  EXPECT_FALSE(IsWindowOf(kRange, {0, 0.6}));
  EXPECT_FALSE(IsWindowOf(kRange, {0.1, 0.1}));
  EXPECT_FALSE(IsWindowOf(kRange, {0.2, 0.1}));
  EXPECT_FALSE(IsWindowOf(kRange, {std::nan(""), 0.1}));
  EXPECT_FALSE(IsWindowOf(kRange, {0.1, std::nan("")}));
}

TEST(CentredWindow, ScaleIsTheRatioOfDeviations) {
  const RewardRandomizer randomizer = *RewardRandomizer::Create({Epsilon{1}, kRange, false});
  EXPECT_DOUBLE_EQ(EventScale(randomizer, kRange, 0.05), 1);
  const RewardRange tenth{0, 0.1};
  const double whole = 0.0025 + randomizer.VarianceMax();
  const double part = 0.0025 + randomizer.VarianceMax() / 100;
  EXPECT_NEAR(EventScale(randomizer, tenth, 0.05), std::sqrt(whole / part), 1e-12);
}

// The figures of docs/operations/models.md: the share of released values that lie inside their
// window.
TEST(CentredWindow, ReleasedValuesTellWindowsThatAreTooNarrow) {
  struct Row {
    double epsilon, centred, clipped;
  };
  for (const Row& row : {Row{1, 0.16, 0.07}, Row{2, 0.58, 0.20}, Row{5, 0.96, 0.43}}) {
    const auto randomizer = *RewardRandomizer::Create({Epsilon{row.epsilon}, {-1, 1}, false});
    const auto inside = [&](std::uint32_t step) {
      const std::vector<std::uint64_t> masses = randomizer.Masses(step);
      double share = 0;
      for (std::uint32_t output = 0; output < randomizer.outputs(); ++output) {
        if (std::abs(randomizer.Value(output)) < 1) share += static_cast<double>(masses[output]);
      }
      return share / static_cast<double>(RewardRandomizer::kMassTotal);
    };
    EXPECT_NEAR(inside(RewardRandomizer::kInputSteps / 2), row.centred, 0.005);
    EXPECT_NEAR(inside(RewardRandomizer::kInputSteps), row.clipped, 0.005);
    EXPECT_NEAR(inside(0), row.clipped, 0.005);
  }
}

// A window is all that differs from a randomizer of another range: same law, scaled values.
TEST(CentredWindow, IsTheRandomizerOfThatRange) {
  const RewardRange window{0.125, 0.375};
  const RewardRandomizer whole = *RewardRandomizer::Create({Epsilon{2}, kRange, false});
  const RewardRandomizer inner = *RewardRandomizer::Create({Epsilon{2}, window, false});
  ASSERT_EQ(whole.outputs(), inner.outputs());
  EXPECT_DOUBLE_EQ(whole.VarianceMaxIn(window), inner.VarianceMax());
  for (std::uint32_t output = 0; output < whole.outputs(); ++output) {
    EXPECT_EQ(whole.ValueIn(window, output), inner.Value(output));
  }
  EXPECT_EQ(whole.Masses(77), inner.Masses(77));
}

}  // namespace
}  // namespace bandana

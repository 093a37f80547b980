#include "common/mechanisms/reward_randomizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/support/failing_bits.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kSteps = RewardRandomizer::kInputSteps;
constexpr double kEpsilons[] = {0.01, 0.05, 0.1, 0.3, 0.5, 0.61, 0.62, 0.7, 1,  1.5,
                                2,    2.5,  3,   4,   5,   6,    8,    10,  15, 20};

RewardRandomizer Make(double epsilon, RandomizerKind kind, RewardRange range = {-1, 1}) {
  return *RewardRandomizer::CreateKind(
      {.epsilon = {epsilon}, .range = range, .binary = kind == RandomizerKind::kRandomizedResponse},
      kind);
}

double Probability(std::uint64_t mass) {
  return static_cast<double>(mass) / static_cast<double>(RewardRandomizer::kMassTotal);
}

// One fixed word.
class FixedBits final : public BitSource {
 public:
  explicit FixedBits(std::uint64_t word) : word_(word) {}
  absl::Status Fill(std::span<std::byte> out) override {
    std::memcpy(out.data(), &word_, out.size());
    ++fills_;
    return absl::OkStatus();
  }
  int fills() const { return fills_; }

 private:
  std::uint64_t word_;
  int fills_ = 0;
};

// The step inside a clipped reward: with one bit, the word n 2^43 answers 1 exactly when n < step.
std::uint32_t StepOf(const RewardRandomizer& bit, const ClippedReward& reward) {
  std::uint32_t low = 0, high = kSteps;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    FixedBits bits(std::uint64_t{middle} << 43);
    if (bit.Randomize(reward, bits)->output() == 1) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

TEST(RewardRandomizerTest, OneBitHasTheClosedForm) {
  for (const double epsilon : kEpsilons) {
    const RewardRandomizer bit = Make(epsilon, RandomizerKind::kStochasticRounding);
    const double c = (std::exp(epsilon) + 1) / (std::exp(epsilon) - 1);
    ASSERT_EQ(bit.outputs(), 2);
    EXPECT_NEAR(bit.Value(0) / -c, 1, 1e-9);
    EXPECT_NEAR(bit.Value(1) / c, 1, 1e-9);
    for (std::uint32_t step : {0u, 1u, kSteps / 3, kSteps / 2, kSteps - 1, kSteps}) {
      const double s = 2.0 * step / kSteps - 1;
      EXPECT_NEAR(Probability(bit.Masses(step)[1]), 0.5 + s / (2 * c), 1e-12);
    }
    EXPECT_NEAR(bit.VarianceMax() / (c * c), 1, 1e-9);
  }
}

TEST(RewardRandomizerTest, RandomizedResponseTruthHasTheClosedForm) {
  for (const double epsilon : kEpsilons) {
    const RewardRandomizer response = Make(epsilon, RandomizerKind::kRandomizedResponse, {0, 1});
    const double truth = std::exp(epsilon) / (1 + std::exp(epsilon));
    EXPECT_NEAR(Probability(response.Masses(0)[0]), truth, 1e-12);
    EXPECT_NEAR(Probability(response.Masses(kSteps)[1]), truth, 1e-12);
    // (B/2)^2 (c^2 - 1) = e^eps / (e^eps - 1)^2 at B = 1. At 20 the 2^63 units give 1e-4 relative.
    const double variance = std::exp(epsilon) / std::pow(std::expm1(epsilon), 2);
    EXPECT_NEAR(response.VarianceMax() / variance, 1, epsilon < 15 ? 1e-6 : 1e-3) << epsilon;
  }
}

// The window's cells of the hybrid: two levels, their ratio e^eps, w cells high at every knot.
TEST(RewardRandomizerTest, HybridIsTwoLevelsOnAWindow) {
  for (const double epsilon : {0.7, 2.0, 5.0}) {
    const RewardRandomizer hybrid = Make(epsilon, RandomizerKind::kHybrid);
    const std::uint32_t width = hybrid.outputs() - 2 - 512;
    for (const std::uint32_t knot : {0u, 1u, 100u, 512u}) {
      const std::vector<std::uint64_t> masses = hybrid.Masses(knot * (kSteps / 512));
      const std::uint64_t high = masses[2 + knot];
      const std::uint64_t low = masses[knot > 0 ? 2 : 2 + width];
      for (std::uint32_t cell = 0; cell < 512 + width; ++cell) {
        EXPECT_EQ(masses[2 + cell], cell >= knot && cell < knot + width ? high : low);
      }
      EXPECT_NEAR(std::log(static_cast<double>(high) / static_cast<double>(low)), epsilon, 1e-9);
      EXPECT_LE(high, std::exp(static_cast<long double>(epsilon)) * low);
    }
  }
}

class EveryTable : public ::testing::TestWithParam<RandomizerKind> {
 protected:
  // Binary tables have two inputs; others are judged at the knots, between them and at odd places.
  static std::vector<std::uint32_t> Steps() {
    if (GetParam() == RandomizerKind::kRandomizedResponse) return {0, kSteps};
    std::vector<std::uint32_t> steps = {1, kSteps / 2 + 1, kSteps - 1};
    for (std::uint32_t knot = 0; knot <= 512; knot += 4) steps.push_back(knot * (kSteps / 512));
    for (std::uint32_t i = 0; i < 64; ++i) steps.push_back((i * 16'411u + 777u) % kSteps);
    return steps;
  }
};

// At every output the largest mass over the inputs is at most e^eps times the smallest: that is
// eps-LDP. Compared in long double, whose rounding (2^-64) is the slack.
TEST_P(EveryTable, LikelihoodRatiosNeverExceedEpsilon) {
  for (const double epsilon : kEpsilons) {
    const RewardRandomizer randomizer = Make(epsilon, GetParam());
    std::vector<std::uint64_t> least(randomizer.outputs(), ~std::uint64_t{0});
    std::vector<std::uint64_t> most(randomizer.outputs(), 0);
    for (const std::uint32_t step : Steps()) {
      const std::vector<std::uint64_t> masses = randomizer.Masses(step);
      ASSERT_EQ(std::accumulate(masses.begin(), masses.end(), std::uint64_t{0}),
                RewardRandomizer::kMassTotal);
      for (std::uint32_t o = 0; o < masses.size(); ++o) {
        least[o] = std::min(least[o], masses[o]);
        most[o] = std::max(most[o], masses[o]);
      }
    }
    long double largest = 0;
    for (std::uint32_t o = 0; o < randomizer.outputs(); ++o) {
      ASSERT_GT(least[o], 0);
      largest = std::max(largest, static_cast<long double>(most[o]) / least[o]);
    }
    EXPECT_LE(largest, std::exp(static_cast<long double>(epsilon)) * (1 + 0x1p-60L)) << epsilon;
    // And the budget is used: a mechanism that is far more private than asked wastes utility.
    EXPECT_GE(std::log(largest), epsilon * (1 - 1e-4)) << epsilon;
  }
}

TEST_P(EveryTable, IsUnbiasedAndVarianceMaxIsTheWorst) {
  for (const double epsilon : kEpsilons) {
    const RewardRandomizer randomizer = Make(epsilon, GetParam());
    double worst = 0;
    for (const std::uint32_t step : Steps()) {
      const std::vector<std::uint64_t> masses = randomizer.Masses(step);
      const double s = 2.0 * step / kSteps - 1;
      double mean = 0, variance = 0;
      for (std::uint32_t o = 0; o < masses.size(); ++o) {
        const double away = randomizer.Value(o) - s;
        mean += Probability(masses[o]) * away;
        variance += Probability(masses[o]) * away * away;
      }
      EXPECT_NEAR(mean, 0, 1e-12 * std::max(1.0, randomizer.Value(randomizer.outputs() - 1)));
      worst = std::max(worst, variance);
    }
    EXPECT_LE(worst, randomizer.VarianceMax() * (1 + 1e-6)) << epsilon;
    EXPECT_GE(worst, randomizer.VarianceMax() * 0.999) << epsilon;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryTable,
                         ::testing::Values(RandomizerKind::kRandomizedResponse,
                                           RandomizerKind::kStochasticRounding,
                                           RandomizerKind::kHybrid));

// [WH19]: worst case of their hybrid, for eps > 0.61.
double WorstVarianceOfWh19(double epsilon) {
  const double h = std::exp(epsilon / 2), e = std::exp(epsilon);
  return (h + 3) / (3 * h * (h - 1)) + (e + 1) * (e + 1) / (h * (e - 1) * (e - 1));
}

TEST(RewardRandomizerTest, IsNeverWorseThanThePublishedHybrid) {
  EXPECT_NEAR(WorstVarianceOfWh19(2), 1.042, 5e-4);
  for (const double epsilon : kEpsilons) {
    const RewardRandomizer best =
        *RewardRandomizer::Create({.epsilon = {epsilon}, .range = {-1, 1}});
    const double c = (std::exp(epsilon) + 1) / (std::exp(epsilon) - 1);
    const double published = epsilon > 0.61 ? WorstVarianceOfWh19(epsilon) : c * c;
    EXPECT_LE(best.VarianceMax(), published * (1 + 1e-9)) << epsilon;
  }
}

TEST(RewardRandomizerTest, VariancesAtEpsilonTwo) {
  const auto variance = [](RandomizerKind kind) { return Make(2, kind).VarianceMax(); };
  EXPECT_NEAR(variance(RandomizerKind::kStochasticRounding), 1.724, 5e-4);
  EXPECT_NEAR(variance(RandomizerKind::kRandomizedResponse), 0.724, 5e-4);
  EXPECT_NEAR(variance(RandomizerKind::kHybrid), 0.9817, 5e-5);
}

TEST(RewardRandomizerTest, VarianceFallsAsEpsilonGrows) {
  double before = kInfinity;
  for (double epsilon = 0.02; epsilon < 20; epsilon *= 1.1) {
    const double variance =
        RewardRandomizer::Create({.epsilon = {epsilon}, .range = {-1, 1}})->VarianceMax();
    EXPECT_LT(variance, before) << epsilon;
    before = variance;
  }
}

TEST(RewardRandomizerTest, CreateTakesTheKindOfLeastVariance) {
  const auto kind = [](double epsilon, bool binary) {
    return RewardRandomizer::Create({.epsilon = {epsilon}, .binary = binary})->kind();
  };
  EXPECT_EQ(kind(2, true), RandomizerKind::kRandomizedResponse);
  EXPECT_EQ(kind(0.1, true), RandomizerKind::kRandomizedResponse);
  EXPECT_EQ(kind(1e-6, false), RandomizerKind::kStochasticRounding);
  EXPECT_EQ(kind(0.6, false), RandomizerKind::kStochasticRounding);
  EXPECT_EQ(kind(0.63, false), RandomizerKind::kHybrid);
  EXPECT_EQ(kind(1000, false), RandomizerKind::kHybrid);
}

TEST(RewardRandomizerTest, ValuesAndVarianceScaleWithTheRange) {
  const RewardRandomizer unit = Make(2, RandomizerKind::kHybrid, {-1, 1});
  const RewardRandomizer wide = Make(2, RandomizerKind::kHybrid, {10, 16});
  ASSERT_EQ(unit.outputs(), wide.outputs());
  for (std::uint32_t o = 0; o < unit.outputs(); ++o) {
    EXPECT_NEAR(wide.Value(o), 13 + 3 * unit.Value(o), 1e-12);
  }
  EXPECT_NEAR(wide.VarianceMax(), 9 * unit.VarianceMax(), 1e-12);
}

TEST(RewardRandomizerTest, HugeEpsilonIsClampedNotOverflowed) {
  for (const double epsilon : {21.0, 100.0, 1000.0}) {
    for (const bool binary : {false, true}) {
      const RewardRandomizer randomizer =
          *RewardRandomizer::Create({.epsilon = {epsilon}, .range = {0, 1}, .binary = binary});
      EXPECT_GT(randomizer.VarianceMax(), 0);
      EXPECT_LT(randomizer.VarianceMax(), 2e-6);
      for (std::uint32_t o = 0; o < randomizer.outputs(); ++o) {
        EXPECT_TRUE(std::isfinite(randomizer.Value(o)));
      }
    }
  }
}

TEST(RewardRandomizerTest, RefusesBadOptions) {
  const auto create = [](double epsilon, double min, double max) {
    return RewardRandomizer::Create({.epsilon = {epsilon}, .range = {min, max}}).status();
  };
  const auto code = absl::StatusCode::kInvalidArgument;
  for (const double epsilon : {0.0, -1.0, 1e-7, 1000.5, kNaN, kInfinity}) {
    EXPECT_THAT(create(epsilon, 0, 1), StatusIs(code, "epsilon must be in [1e-06, 1000]"));
  }
  const double largest = std::numeric_limits<double>::max();
  for (const auto& [min, max] : std::vector<std::pair<double, double>>{{1, 1},
                                                                       {1, 0},
                                                                       {kNaN, 1},
                                                                       {0, kNaN},
                                                                       {-kInfinity, 1},
                                                                       {0, kInfinity},
                                                                       {-largest, largest}}) {
    EXPECT_THAT(create(1, min, max), StatusIs(code, "reward range must be finite"));
  }
  EXPECT_THAT(RewardRandomizer::CreateKind({.epsilon = {1}}, RandomizerKind::kRandomizedResponse),
              StatusIs(code, "binary"));
}

TEST(ClipTest, MapsEveryRewardIntoTheGrid) {
  const RewardRandomizer bit = Make(1, RandomizerKind::kStochasticRounding, {-2, 6});
  const auto step = [&bit](std::optional<double> reward, double default_reward = 0) {
    return StepOf(bit, bit.Clip(RawReward(reward), default_reward));
  };
  EXPECT_EQ(step(-2), 0);
  EXPECT_EQ(step(6), kSteps);
  EXPECT_EQ(step(2), kSteps / 2);
  EXPECT_EQ(step(-2.0000001), 0);
  EXPECT_EQ(step(1e300), kSteps);
  EXPECT_EQ(step(kInfinity), kSteps);
  EXPECT_EQ(step(-kInfinity), 0);
  EXPECT_EQ(step(std::nullopt, 0), kSteps / 4);
  EXPECT_EQ(step(kNaN, 0), kSteps / 4);
  EXPECT_EQ(step(std::nullopt, 7), kSteps);
  EXPECT_EQ(step(std::nullopt, kNaN), 0);
  EXPECT_EQ(step(kNaN, kNaN), 0);
  // To the nearest: a step is 8 / 2^20.
  const double one = 8.0 / kSteps;
  EXPECT_EQ(step(-2 + 0.49 * one), 0);
  EXPECT_EQ(step(-2 + 0.51 * one), 1);
  EXPECT_EQ(step(6 - 0.49 * one), kSteps);
  EXPECT_EQ(step(6 - 0.51 * one), kSteps - 1);
}

TEST(ClipTest, BinaryRewardsGoToTheNearerEnd) {
  const RewardRandomizer response = Make(1, RandomizerKind::kRandomizedResponse, {0, 1});
  const auto step = [&response](std::optional<double> reward, double default_reward = 0) {
    return StepOf(response, response.Clip(RawReward(reward), default_reward));
  };
  EXPECT_EQ(step(0), 0);
  EXPECT_EQ(step(0.49), 0);
  EXPECT_EQ(step(0.5), kSteps);
  EXPECT_EQ(step(1), kSteps);
  EXPECT_EQ(step(kNaN, 1), kSteps);
  EXPECT_EQ(step(std::nullopt), 0);
}

TEST(RandomizeTest, DrawsOneWordOnce) {
  for (const RandomizerKind kind : {RandomizerKind::kRandomizedResponse,
                                    RandomizerKind::kStochasticRounding, RandomizerKind::kHybrid}) {
    const RewardRandomizer randomizer = Make(2, kind);
    FixedBits bits(12345);
    EXPECT_THAT(randomizer.Randomize(randomizer.Clip(RawReward(0.5), 0), bits), IsOk());
    EXPECT_EQ(bits.fills(), 1);
  }
}

TEST(RandomizeTest, EntropyFailureReturnsNothing) {
  const RewardRandomizer randomizer = Make(2, RandomizerKind::kHybrid);
  FailingBits dry(7);
  EXPECT_THAT(randomizer.Randomize(randomizer.Clip(RawReward(0.5), 0), dry),
              StatusIs(absl::StatusCode::kUnavailable, "entropy"));
}

TEST(RandomizeTest, EveryWordGivesAnOutput) {
  const RewardRandomizer randomizer = Make(2, RandomizerKind::kHybrid);
  const ClippedReward reward = randomizer.Clip(RawReward(1), 0);
  // The ends of the word's range and of the two components' shares.
  std::uint64_t bit_share = 0;
  for (const std::uint32_t o : {0u, 1u}) bit_share += randomizer.Masses(0)[o];
  const auto output = [&](std::uint64_t word) {
    FixedBits bits(word);
    return randomizer.Randomize(reward, bits)->output();
  };
  EXPECT_LT(output(0), 2);
  EXPECT_LT(output(bit_share - 1), 2);
  EXPECT_GE(output(bit_share), 2);
  EXPECT_LT(output(RewardRandomizer::kMassTotal - 1), randomizer.outputs());
  EXPECT_LT(output(~std::uint64_t{0}), randomizer.outputs());
}

// Pinned: a device and a server of different releases must mean the same by an output.
TEST(RewardRandomizerTest, TablesAreFixed) {
  const RewardRandomizer hybrid = Make(2, RandomizerKind::kHybrid);
  EXPECT_EQ(hybrid.outputs(), 800);
  EXPECT_DOUBLE_EQ(hybrid.Value(1), 1.3130352855002019);
  EXPECT_EQ(Make(1, RandomizerKind::kHybrid).outputs(), 876);
  EXPECT_EQ(Make(5, RandomizerKind::kHybrid).outputs(), 633);
}

}  // namespace
}  // namespace bandana::testing

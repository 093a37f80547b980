// The sampler against its own table, and mutants that the same tests must reject. Seeds are fixed:
// the run is deterministic.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "common/mechanisms/reward_randomizer.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/randomizer_mutants.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/statistics.h"

namespace bandana::testing {
namespace {

constexpr std::uint64_t kDraws = 2'000'000;

RewardRandomizer Make(double epsilon, RandomizerKind kind) {
  return *RewardRandomizer::CreateKind({.epsilon = {epsilon},
                                        .range = {-1, 1},
                                        .binary = kind == RandomizerKind::kRandomizedResponse},
                                       kind);
}

std::uint32_t StepAt(double s) {
  return static_cast<std::uint32_t>((s + 1) / 2 * RewardRandomizer::kInputSteps);
}

std::vector<std::uint64_t> Counts(const RewardRandomizer& randomizer, double s, BitSource& bits) {
  std::vector<std::uint64_t> counts(randomizer.outputs(), 0);
  const ClippedReward reward = randomizer.Clip(RawReward(s), 0);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    ++counts[randomizer.Randomize(reward, bits)->output()];
  }
  return counts;
}

struct FitCase {
  RandomizerKind kind;
  double epsilon;
  double s;
};

// alpha randomizer_fit over all cases.
TEST(RewardRandomizerStatTest, DrawsFollowTheTable) {
  // 0.3 lies between knots; 1 and -1 are the ends.
  const std::vector<FitCase> cases = {{RandomizerKind::kRandomizedResponse, 1, -1},
                                      {RandomizerKind::kRandomizedResponse, 1, 1},
                                      {RandomizerKind::kStochasticRounding, 0.5, 0.3},
                                      {RandomizerKind::kHybrid, 1, 1},
                                      {RandomizerKind::kHybrid, 2, 0.3},
                                      {RandomizerKind::kHybrid, 2, -1},
                                      {RandomizerKind::kHybrid, 5, 0.3}};
  std::uint64_t seed = 100;
  for (const FitCase& c : cases) {
    SCOPED_TRACE(c.epsilon);
    const RewardRandomizer randomizer = Make(c.epsilon, c.kind);
    const Law law = LawOf(randomizer.Masses(StepAt(c.s)));
    const FitTest fit = *FitTest::Create(
        kDraws, law, AlphaOf("randomizer_fit") / static_cast<double>(cases.size()));
    SeededBits bits(seed++);
    EXPECT_TRUE(fit.Accepts(Counts(randomizer, c.s, bits)));
  }
}

// The mean of the outputs, by a bound that holds for every bounded law (Hoeffding): with half-range
// h of the values, |mean - s| <= h sqrt(2 ln(2/alpha) / n) except with probability alpha.
TEST(RewardRandomizerStatTest, MeanIsTheReward) {
  const RewardRandomizer randomizer = Make(2, RandomizerKind::kHybrid);
  double half_range = 0;
  for (std::uint32_t o = 0; o < randomizer.outputs(); ++o) {
    half_range = std::max(half_range, std::abs(randomizer.Value(o)));
  }
  const std::vector<double> rewards = {-1, -0.3, 0, 0.7, 1};
  const double alpha = AlphaOf("randomizer_mean") / static_cast<double>(rewards.size());
  const double bound = half_range * std::sqrt(2 * std::log(2 / alpha) / kDraws);
  SeededBits bits(200);
  for (const double s : rewards) {
    const std::vector<std::uint64_t> counts = Counts(randomizer, s, bits);
    double sum = 0;
    for (std::uint32_t o = 0; o < counts.size(); ++o) {
      sum += static_cast<double>(counts[o]) * randomizer.Value(o);
    }
    EXPECT_NEAR(sum / kDraws, s, bound + 0x1p-20) << s;
  }
}

// Same sample size and alpha as above: what is rejected here would be found there. Power is exact,
// at least 0.99.
void ExpectRejected(const char* name, const Law& right, const Law& mutant, std::uint64_t seed) {
  SCOPED_TRACE(name);
  const FitTest fit = *FitTest::Create(kDraws, right, AlphaOf("randomizer_mutants") / 5);
  EXPECT_GE(fit.PowerAtLeast(mutant), 0.99);
  SeededBits bits(seed);
  EXPECT_FALSE(fit.Accepts(testing::SampleCounts(mutant, kDraws, bits)));
  EXPECT_TRUE(fit.Accepts(testing::SampleCounts(right, kDraws, bits)));
}

TEST(RewardRandomizerStatTest, MutantsAreRejected) {
  const Law hybrid = LawOf(Make(2, RandomizerKind::kHybrid).Masses(StepAt(-0.5)));
  const Law bit = LawOf(Make(1, RandomizerKind::kStochasticRounding).Masses(StepAt(1)));
  ExpectRejected("RatioFivePercentOff, hybrid", hybrid, testing::RatioFivePercentOff(hybrid, 2),
                 301);
  ExpectRejected("RatioFivePercentOff, one bit", bit, testing::RatioFivePercentOff(bit, 0), 302);
  ExpectRejected("WindowOneCellOff", hybrid, testing::WindowOneCellOff(hybrid, 2), 303);
  ExpectRejected("ProbabilityRoundedUp", bit, testing::ProbabilityRoundedUp(bit), 304);
  ExpectRejected("NoClip", bit, testing::NoClip(1), 305);
}

}  // namespace
}  // namespace bandana::testing

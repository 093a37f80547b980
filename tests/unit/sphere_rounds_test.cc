#include "research/rounds/sphere_rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/alpha_registry.h"
#include "tests/support/statistics.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr int kRounds = SphereRounds::kBlockRounds;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double Coordinate(const SphereBlock& block, int pool, int round, int arm, int c) {
  return block.x[c * block.stride + static_cast<std::size_t>(round) * pool + arm];
}

TEST(SphereRounds, ABlockIsAFunctionOfSeedAndIndex) {
  const auto world = SphereRounds::Create({.pool = 7, .seed = 3});
  const auto other = SphereRounds::Create({.pool = 7, .seed = 4});
  ASSERT_THAT(world, IsOk());
  ASSERT_THAT(other, IsOk());
  SphereBlock a, b;
  world->Fill(5, a);
  for (const std::uint64_t index : {0, 9, 5}) world->Fill(index, b);  // other blocks between
  EXPECT_EQ(a.first, 5 * kRounds);
  const auto same = [](const SphereBlock& p, const SphereBlock& q) {
    return std::equal(p.x.begin(), p.x.begin() + p.stride * 5, q.x.begin()) &&
           p.expected == q.expected && p.uniform == q.uniform;
  };
  EXPECT_TRUE(same(a, b));
  world->Fill(6, b);
  EXPECT_FALSE(same(a, b));
  other->Fill(5, b);
  EXPECT_FALSE(same(a, b));
  EXPECT_NE(world->theta(), other->theta());
}

TEST(SphereRounds, ArmsHaveLengthOneAndTheirExpectedRewards) {
  for (const int d : {2, 3, 5, 8, 32}) {
    const auto world = SphereRounds::Create({.dimension = d, .pool = 25, .theta_l2 = 0.5});
    ASSERT_THAT(world, IsOk());
    SphereBlock block;
    world->Fill(1, block);
    for (int round = 0; round < kRounds; ++round) {
      for (int a = 0; a < 25; ++a) {
        double square = 0, expected = 0;
        for (int c = 0; c < d; ++c) {
          const double x = Coordinate(block, 25, round, a, c);
          square += x * x;
          expected += x * world->theta()[c];
        }
        EXPECT_LE(square, 1.0) << d;
        EXPECT_NEAR(square, 1.0, 5e-6) << d;
        EXPECT_NEAR(block.expected[round * 25 + a], expected, 1e-6) << d;
      }
    }
  }
}

TEST(SphereRounds, FixedArmsAreTheSameInEveryRound) {
  const auto world = SphereRounds::Create({.fixed_arms = true, .seed = 8});
  ASSERT_THAT(world, IsOk());
  SphereBlock first, later;
  world->Fill(0, first);
  world->Fill(77, later);
  for (int round = 0; round < kRounds; ++round) {
    for (int a = 0; a < 25; ++a) {
      for (int c = 0; c < 5; ++c) {
        EXPECT_EQ(Coordinate(first, 25, 0, a, c), Coordinate(first, 25, round, a, c));
        EXPECT_EQ(Coordinate(first, 25, 0, a, c), Coordinate(later, 25, round, a, c));
      }
    }
  }
  EXPECT_NE(first.uniform, later.uniform);
}

TEST(SphereRounds, TheSecondBestArmIsTheGapBelow) {
  constexpr double kGap = 0.1;
  const auto plain = SphereRounds::Create({.seed = 2});
  const auto world = SphereRounds::Create({.gap = kGap, .seed = 2});
  ASSERT_THAT(world, IsOk());
  SphereBlock before, block;
  plain->Fill(3, before);
  world->Fill(3, block);
  int moved = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto expected = block.expected.begin() + round * 25;
    const auto best = std::max_element(expected, expected + 25);
    for (int a = 0; a < 25; ++a) {
      double square = 0, along = 0;
      for (int c = 0; c < 5; ++c) {
        const double x = Coordinate(block, 25, round, a, c);
        square += x * x;
        along += x * world->theta()[c];
      }
      EXPECT_NEAR(square, 1.0, 1e-5);
      EXPECT_NEAR(along, expected[a], 1e-6);
      if (expected + a == best) {
        EXPECT_EQ(expected[a], before.expected[round * 25 + a]);
      } else {
        EXPECT_LE(expected[a], *best - kGap + 1e-6);
        moved += expected[a] != before.expected[round * 25 + a] ? 1 : 0;
      }
    }
  }
  EXPECT_GT(moved, 0);
}

// A coordinate of a uniform direction in R^5 has density 3/4 (1 - x^2): it is below -1/2 with
// probability 5/32 and positive with 1/2, two of one sign with 1/2. A generator whose coordinates
// are 2 % too large (before scaling, one of them) moves the first by 0.004.
TEST(SphereRounds, DirectionsAreUniform) {
  const auto world = SphereRounds::Create({.seed = 11});
  ASSERT_THAT(world, IsOk());
  SphereBlock block;
  constexpr int kBlocks = 512;
  const std::uint64_t samples = std::uint64_t{kBlocks} * kRounds * 25;
  std::uint64_t tails[5] = {}, positive[5] = {}, of_one_sign[5] = {}, rewards = 0;
  for (int index = 0; index < kBlocks; ++index) {
    world->Fill(index, block);
    for (std::size_t i = 0; i < block.stride; ++i) {
      for (int c = 0; c < 5; ++c) {
        const float x = block.x[c * block.stride + i];
        const float next = block.x[(c + 1) % 5 * block.stride + i];
        tails[c] += x < -0.5f;
        positive[c] += x > 0;
        of_one_sign[c] += (x > 0) == (next > 0);
      }
    }
    for (const float u : block.uniform) rewards += u < 0.25f;
  }
  const double alpha = AlphaOf("sphere_rounds_law") / 16;
  const BinomialTest tail = *BinomialTest::Create(samples, 5.0 / 32, alpha);
  const BinomialTest half = *BinomialTest::Create(samples, 0.5, alpha);
  for (int c = 0; c < 5; ++c) {
    EXPECT_TRUE(tail.Accepts(tails[c])) << c << ": " << tails[c];
    EXPECT_TRUE(half.Accepts(positive[c])) << c << ": " << positive[c];
    EXPECT_TRUE(half.Accepts(of_one_sign[c])) << c << ": " << of_one_sign[c];
  }
  EXPECT_TRUE(BinomialTest::Create(kBlocks * kRounds, 0.25, alpha)->Accepts(rewards)) << rewards;
  EXPECT_GE(tail.RejectionProbability(5.0 / 32 - 0.004), 0.99);
  EXPECT_GE(half.RejectionProbability(0.505), 0.99);
}

TEST(SphereRounds, RewardsFollowTheExpectation) {
  const auto world = SphereRounds::Create({.pool = 1});
  ASSERT_THAT(world, IsOk());
  SphereBlock block;
  world->Fill(0, block);
  for (int round = 0; round < kRounds; ++round) {
    const double threshold = (1 + block.expected[round]) / 2;
    EXPECT_EQ(world->Reward(block, round, 0), block.uniform[round] < threshold ? 1 : -1);
  }
}

TEST(SphereRounds, NamesTheOptionThatIsOutOfRange) {
  const auto refuses = [](SphereRounds::Options options, const std::string& text) {
    EXPECT_THAT(SphereRounds::Create(options), StatusIs(absl::StatusCode::kInvalidArgument, text));
  };
  refuses({.dimension = 1}, "dimension must be in");
  refuses({.dimension = 33}, "dimension must be in");
  refuses({.pool = 0}, "pool must be in");
  refuses({.theta_l2 = kNan}, "theta_l2 must be in");
  refuses({.theta_l2 = 1.5}, "theta_l2 must be in");
  refuses({.gap = kNan}, "gap must be in");
  refuses({.theta_l2 = 0.5, .gap = 0.6}, "gap must be in");
}

}  // namespace
}  // namespace bandana::testing

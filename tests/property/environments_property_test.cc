// Properties of every environment and every seed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tools/environments/environment.h"
#include "tools/environments/random.h"
#include "tools/environments/vectors.h"

namespace bandana {
namespace {

struct Case {
  const char* spec;
  std::vector<std::string> settings;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.spec; }

std::unique_ptr<Environment> Make(const Case& c, std::uint64_t seed) {
  return *MakeEnvironment(c.spec, *Settings::Parse(c.settings), seed);
}

class EveryEnvironment : public ::testing::TestWithParam<Case> {};

TEST_P(EveryEnvironment, DecisionDependsOnSeedAndIndexAlone) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto forward = Make(GetParam(), seed);
    const auto backward = Make(GetParam(), seed);
    std::vector<Choice> decisions(40);
    std::vector<double> rewards(40);
    for (int i = 0; i < 40; ++i) {
      forward->DecisionAt(i, decisions[i]);
      rewards[i] = forward->RewardAt(i, decisions[i], 0);
    }
    Choice again;
    for (int i = 39; i >= 0; --i) {
      backward->DecisionAt(i, again);
      EXPECT_EQ(again.user, decisions[i].user);
      EXPECT_EQ(again.features, decisions[i].features);
      EXPECT_EQ(again.expected, decisions[i].expected);
      EXPECT_EQ(backward->RewardAt(i, again, 0), rewards[i])
          << "seed " << seed << " decision " << i;
    }
  }
}

TEST_P(EveryEnvironment, SeedsDiffer) {
  const auto one = Make(GetParam(), 1);
  const auto two = Make(GetParam(), 2);
  Choice a;
  Choice b;
  one->DecisionAt(0, a);
  two->DecisionAt(0, b);
  EXPECT_TRUE(a.features != b.features || a.expected != b.expected);
}

TEST_P(EveryEnvironment, StaysWithinItsBounds) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto environment = Make(GetParam(), seed);
    const EnvironmentInfo& info = environment->info();
    Choice decision;
    for (int i = 0; i < 200; ++i) {
      environment->DecisionAt(i, decision);
      ASSERT_EQ(decision.expected.size(), static_cast<std::size_t>(info.pool));
      ASSERT_EQ(decision.features.size(), static_cast<std::size_t>(info.pool) * info.dimension);
      for (int a = 0; a < info.pool; ++a) {
        const auto x = std::span(decision.features).subspan(a * info.dimension, info.dimension);
        EXPECT_LE(std::sqrt(Dot(x, x)), info.feature_l2_max);
        const double reward = environment->RewardAt(i, decision, a);
        EXPECT_GE(reward, info.reward_min);
        EXPECT_LE(reward, info.reward_max);
        EXPECT_GE(decision.expected[a], info.reward_min);
        EXPECT_LE(decision.expected[a], info.reward_max);
      }
      EXPECT_LE(decision.MeanExpected(), decision.BestExpected());
    }
  }
}

// The sum over 20,000 decisions of (reward of a randomly chosen arm - its expectation) has mean 0
// and a variance of at most n times the reward's; 4.9 standard deviations are one chance in 10^6.
// Clipping moves the mean of noisy rewards near the bound inwards by at most 0.4 noise standard
// deviations: those arms are left out.
TEST_P(EveryEnvironment, RewardsAgreeWithTheirExpectation) {
  const auto environment = Make(GetParam(), 7);
  const EnvironmentInfo& info = environment->info();
  const double margin = info.reward_binary ? 0 : 5 * info.reward_stddev;
  SeededStream choice(7, StreamPurpose::kArrival, 0);
  Choice decision;
  double sum = 0;
  int counted = 0;
  for (int i = 0; i < 20'000; ++i) {
    environment->DecisionAt(i, decision);
    const int arm = static_cast<int>(choice.Below(info.pool));
    if (!info.reward_binary && (decision.expected[arm] > info.reward_max - margin ||
                                decision.expected[arm] < info.reward_min + margin)) {
      continue;
    }
    sum += environment->RewardAt(i, decision, arm) - decision.expected[arm];
    ++counted;
  }
  EXPECT_GT(counted, 10'000);
  EXPECT_LT(std::abs(sum), 4.9 * std::sqrt(counted) * info.reward_stddev);
}

TEST_P(EveryEnvironment, UniformPolicyEarnsTheMeanExpectation) {
  // Realised expected reward of uniformly drawn arms against MeanExpected. The difference is
  // bounded by the range of the expectations, whose standard deviation over arms is estimated from
  // the same decisions.
  const auto environment = Make(GetParam(), 8);
  SeededStream choice(8, StreamPurpose::kArrival, 0);
  Choice decision;
  double difference = 0;
  double variance = 0;
  for (int i = 0; i < 20'000; ++i) {
    environment->DecisionAt(i, decision);
    const double mean = decision.MeanExpected();
    difference += decision.expected[choice.Below(decision.expected.size())] - mean;
    for (const double e : decision.expected)
      variance += (e - mean) * (e - mean) / decision.expected.size();
  }
  EXPECT_LT(std::abs(difference), 4.9 * std::sqrt(variance));
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryEnvironment,
    ::testing::Values(Case{"synthetic", {}}, Case{"banditlib", {}},
                      Case{"synthetic", {"users=3", "dimension=4", "arms=12", "pool=12"}},
                      Case{"crowd", {"users=1000", "noise=0.02"}},
                      Case{"crowd", {"start=0.1", "arrival_rounds=1000", "noise=0.02"}},
                      Case{"sphere", {"users=2"}}, Case{"sparse", {"dimension=60"}},
                      Case{"mab", {}}),
    [](const auto& info) {
      return std::string(info.param.spec) + "_" + std::to_string(info.index);
    });

class CoupledEnvironment : public ::testing::TestWithParam<const char*> {};

TEST_P(CoupledEnvironment, InfluenceIsColumnStochasticAndSimilaritySymmetric) {
  for (int world = 1; world <= 20; ++world) {
    const int users = 1 + world;
    const auto environment =
        Make({GetParam(), {"world=" + std::to_string(world), "users=" + std::to_string(users)}}, 1);
    const std::vector<double> w = environment->Influence();
    const std::vector<double> s = environment->Similarity();
    ASSERT_EQ(w.size(), static_cast<std::size_t>(users) * users);
    for (int u = 0; u < users; ++u) {
      double column = 0;
      for (int j = 0; j < users; ++j) {
        EXPECT_GE(w[j * users + u], 0);
        column += w[j * users + u];
        EXPECT_EQ(s[j * users + u], s[u * users + j]);
        EXPECT_GE(s[j * users + u], 0);
      }
      EXPECT_NEAR(column, 1, 1e-12);
      EXPECT_GT(w[u * users + u], 0);
      EXPECT_EQ(s[u * users + u], 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Both, CoupledEnvironment, ::testing::Values("synthetic", "banditlib"));

// W read back from rewards: with noiseless rewards and arms spanning R^d, the users' parameters are
// linear in the expectations, so a user whose column of W is e_u would have a unit parameter;
// mixing shortens it. |sum_j W_ju theta_j| <= 1.
TEST(CollaborativeProperty, ExpectationsComeFromTheMixedParameter) {
  const auto environment = Make({"synthetic", {"users=1", "noise=0", "reward_abs_max=10"}}, 3);
  // One user: the parameter is theta itself, a unit vector, so the sum of squared expectations over
  // an orthonormal set is 1; over random unit arms it is 1/d on average. 5,000 arms: relative sd
  // sqrt(2 (d-1)/(d+2))/sqrt(n) = 0.017 at d = 10.
  Choice decision;
  double sum = 0;
  const int rounds = 500;
  for (int i = 0; i < rounds; ++i) {
    environment->DecisionAt(i, decision);
    for (int a = 0; a < 10; ++a) {
      EXPECT_EQ(environment->RewardAt(i, decision, a), decision.expected[a]);
      sum += decision.expected[a] * decision.expected[a];
    }
  }
  // The 1000 distinct arms repeat: effective n = 1000, relative sd 0.039; 5 sd.
  EXPECT_NEAR(sum / (10 * rounds), 0.1, 0.1 * 5 * 0.039);
}

TEST(SeededStreamProperty, NormalsHaveTheMomentsOfANormal) {
  // n = 400,000: sd of the mean 1/sqrt(n), of the second moment sqrt(2/n), of the fourth
  // sqrt(96/n). 4.9 sd each.
  constexpr int kDraws = 400'000;
  SeededStream stream(9, StreamPurpose::kReward, 0);
  double first = 0;
  double second = 0;
  double fourth = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double z = stream.Normal();
    first += z;
    second += z * z;
    fourth += z * z * z * z;
  }
  EXPECT_NEAR(first / kDraws, 0, 4.9 * std::sqrt(1.0 / kDraws));
  EXPECT_NEAR(second / kDraws, 1, 4.9 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(fourth / kDraws, 3, 4.9 * std::sqrt(96.0 / kDraws));
}

// Counts between the knots, on either side, within 4.9 standard deviations each. Layer edges and
// the tail (from 3.654) have cells of their own.
TEST(SeededStreamProperty, QuickNormalsFallAsNormalsDo) {
  constexpr int kDraws = 2'000'000;
  const std::vector<double> knots = {-40, -4, -3.654, -2, -1, -0.2, 0, 0.2, 1, 2, 3.654, 4, 40};
  std::vector<int> counts(knots.size() - 1, 0);
  SeededStream stream(10, StreamPurpose::kDecision, 0);
  for (int i = 0; i < kDraws; ++i) {
    const double z = stream.QuickNormal();
    const auto above = std::upper_bound(knots.begin(), knots.end(), z);
    ++counts[above - knots.begin() - 1];
  }
  const auto below = [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double p = below(knots[i + 1]) - below(knots[i]);
    EXPECT_NEAR(counts[i], kDraws * p, 4.9 * std::sqrt(kDraws * p)) << knots[i];
  }
}

}  // namespace
}  // namespace bandana

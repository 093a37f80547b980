// Bandits without contexts: one claim each.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "common/bandits/mab/index_policy.h"
#include "common/bandits/mab/lil_ucb.h"
#include "common/bandits/mab/tsallis_inf.h"
#include "common/ranking/policies/draw_arm.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::unique_ptr<TsallisInf> MakeTsallis(int arms, double scale = 0.5) {
  return *TsallisInf::Create(
      {.arms = arms, .reward_middle = 0.5, .reward_scale = scale, .reward_excess = scale});
}

std::vector<double> ProbabilitiesOf(const ArmPolicy& policy) {
  std::vector<double> probabilities;
  policy.Probabilities(probabilities);
  return probabilities;
}

TEST(ArmPolicyTest, ArmsMustBeInRange) {
  EXPECT_EQ(TsallisInf::Create({.arms = 0}).status().code(), kInvalid);
  EXPECT_EQ(TsallisInf::Create({.arms = -1}).status().code(), kInvalid);
  EXPECT_EQ(IndexPolicy::Create({.arms = kPolicyArmsMax + 1}).status().code(), kInvalid);
  EXPECT_EQ(LilUcb::Create({.arms = 0}).status().code(), kInvalid);
}

TEST(ArmPolicyTest, ASingleArmIsAlwaysShown) {
  const auto tsallis = MakeTsallis(1);
  const auto index = *IndexPolicy::Create({.arms = 1});
  const auto lil = *LilUcb::Create({.arms = 1});
  for (int i = 0; i < 3; ++i) {
    for (ArmPolicy* policy :
         {static_cast<ArmPolicy*>(tsallis.get()), static_cast<ArmPolicy*>(index.get()),
          static_cast<ArmPolicy*>(lil.get())}) {
      EXPECT_EQ(ProbabilitiesOf(*policy), std::vector<double>{1});
      EXPECT_TRUE(policy->Apply({.arm = 0, .reward = 1}).ok());
    }
  }
  EXPECT_EQ(lil->Decision(), 0);
}

TEST(ArmPolicyTest, BadOptionsAreRefused) {
  EXPECT_EQ(TsallisInf::Create({.arms = 2, .reward_middle = kNan}).status().code(), kInvalid);
  EXPECT_EQ(TsallisInf::Create({.arms = 2, .reward_scale = 0}).status().code(), kInvalid);
  EXPECT_EQ(TsallisInf::Create({.arms = 2, .reward_scale = kNan}).status().code(), kInvalid);
  EXPECT_EQ(TsallisInf::Create({.arms = 2, .reward_excess = -1}).status().code(), kInvalid);
  EXPECT_EQ(IndexPolicy::Create({.arms = 2, .value_low = 1}).status().code(), kInvalid);
  EXPECT_EQ(IndexPolicy::Create({.arms = 2, .value_high = kNan}).status().code(), kInvalid);
  EXPECT_EQ(
      IndexPolicy::Create({.arms = 2, .kind = IndexPolicy::Kind::kSubGaussian, .variance_proxy = 0})
          .status()
          .code(),
      kInvalid);
  EXPECT_EQ(IndexPolicy::Create({.arms = 2, .log_log_weight = -1}).status().code(), kInvalid);
  EXPECT_EQ(LilUcb::Create({.arms = 2, .variance_proxy = kNan}).status().code(), kInvalid);
  EXPECT_EQ(LilUcb::Create({.arms = 2, .failure_probability = 1}).status().code(), kInvalid);
}

TEST(ArmPolicyTest, BadEventsChangeNothing) {
  const auto policy = MakeTsallis(3);
  ASSERT_TRUE(policy->Apply({.arm = 1, .reward = 1, .probability = 0.3}).ok());
  const std::vector<ArmStatistics> before(policy->statistics().begin(), policy->statistics().end());
  for (const ArmEvent& event :
       std::vector<ArmEvent>{{.arm = 3, .reward = 1},
                             {.arm = -1, .reward = 1},
                             {.arm = 0, .reward = kNan},
                             {.arm = 0, .reward = 1e300},
                             {.arm = 0, .reward = 1, .probability = 0},
                             {.arm = 0, .reward = 1, .probability = 2},
                             {.arm = 0, .reward = 1, .probability = kNan}}) {
    EXPECT_EQ(policy->Apply(event).code(), kInvalid);
  }
  EXPECT_TRUE(std::equal(before.begin(), before.end(), policy->statistics().begin()));
  EXPECT_EQ(policy->events(), 1u);
}

TEST(ArmPolicyTest, TheStatisticsAreTheState) {
  const auto policy = MakeTsallis(4);
  TestRng rng(5);
  for (int i = 0; i < 200; ++i) {
    const std::vector<double> p = ProbabilitiesOf(*policy);
    const int arm = DrawArm(p, rng.Uniform());
    ASSERT_TRUE(policy->Apply({.arm = arm, .reward = rng.Uniform(), .probability = p[arm]}).ok());
  }
  const auto copy = MakeTsallis(4);
  const std::vector<ArmStatistics> state(policy->statistics().begin(), policy->statistics().end());
  ASSERT_TRUE(copy->Restore(state).ok());
  EXPECT_EQ(ProbabilitiesOf(*copy), ProbabilitiesOf(*policy));
  EXPECT_EQ(copy->events(), 200u);

  EXPECT_EQ(copy->Restore({{.sum = 1, .events = 1}}).code(), kInvalid);
  EXPECT_EQ(copy->Restore({{.sum = kNan}, {}, {}, {}}).code(), kInvalid);
  EXPECT_EQ(copy->events(), 200u);
}

TEST(DrawArmTest, FollowsTheProbabilitiesAndNeverAnArmWithoutAny) {
  const std::vector<double> p = {0, 0.25, 0.75, 0};
  EXPECT_EQ(DrawArm(p, 0), 1);
  EXPECT_EQ(DrawArm(p, 0.2499), 1);
  EXPECT_EQ(DrawArm(p, 0.25), 2);
  EXPECT_EQ(DrawArm(p, 1 - 0x1p-53), 2);
  EXPECT_EQ(DrawArm(std::vector<double>{0, 0.5 - 1e-9, 0.5 - 1e-9, 0}, 1 - 1e-12), 2);
}

// The expectation over the arm drawn is c - r_i for every arm, also where some are too small for
// centred losses.
TEST(TsallisInfTest, EstimatesAreUnbiased) {
  for (const bool late : {false, true}) {
    SCOPED_TRACE(late);
    // 9 events: every probability is below 16 / 10. 1e6: 16 / t = 1.6e-5, some are below.
    const std::vector<ArmStatistics> state =
        late ? std::vector<ArmStatistics>{{0, 500'000}, {1500, 400'000}, {6e6, 100'000}}
             : std::vector<ArmStatistics>{{0, 4}, {2, 3}, {5, 2}};
    const auto policy = MakeTsallis(3);
    ASSERT_TRUE(policy->Restore(state).ok());
    const std::vector<double> w = ProbabilitiesOf(*policy);
    if (late) {
      ASSERT_GT(w[1], 1.6e-5);
      ASSERT_LT(w[2], 1.6e-5);
    }
    const std::vector<double> rewards = {1, 0.25, 0.75};
    std::vector<double> moved(3, 0.0);
    for (int arm = 0; arm < 3; ++arm) {
      const auto next = MakeTsallis(3);
      ASSERT_TRUE(next->Restore(state).ok());
      ASSERT_TRUE(next->Apply({.arm = arm, .reward = rewards[arm], .probability = w[arm]}).ok());
      for (int i = 0; i < 3; ++i) moved[i] += w[arm] * (next->statistics()[i].sum - state[i].sum);
    }
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(moved[i], 0.5 - rewards[i], 1e-6);
  }
}

TEST(TsallisInfTest, LessLikelyAsLossesGrow) {
  std::vector<double> w;
  TsallisProbabilities(std::vector<double>{0, 1, 2, 1e12}, 0.5, w);
  EXPECT_GT(w[0], w[1]);
  EXPECT_GT(w[1], w[2]);
  EXPECT_GT(w[2], w[3]);
  EXPECT_GT(w[3], 0);
  TsallisProbabilities(std::vector<double>{7, 7, 7, 7}, 3, w);
  for (const double p : w) EXPECT_DOUBLE_EQ(p, 0.25);
}

TEST(IndexPolicyTest, EveryArmComesOnceThenTheBest) {
  const auto policy = *IndexPolicy::Create({.arms = 3});
  EXPECT_EQ(ProbabilitiesOf(*policy), (std::vector<double>{1 / 3.0, 1 / 3.0, 1 / 3.0}));
  ASSERT_TRUE(policy->Apply({.arm = 1, .reward = 1}).ok());
  EXPECT_EQ(ProbabilitiesOf(*policy), (std::vector<double>{0.5, 0, 0.5}));
  ASSERT_TRUE(policy->Apply({.arm = 0, .reward = 0}).ok());
  ASSERT_TRUE(policy->Apply({.arm = 2, .reward = 0}).ok());
  EXPECT_EQ(ProbabilitiesOf(*policy), (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(policy->Index(1), 1);
}

// 100 events of one arm, mean 0.3, 1000 in all: 0.3 + sqrt(2 v ln(1000) / 100), v = 1/4.
TEST(IndexPolicyTest, TheSubGaussianIndexIsTheFormula) {
  const auto policy = *IndexPolicy::Create(
      {.arms = 2, .kind = IndexPolicy::Kind::kSubGaussian, .variance_proxy = 0.25});
  ASSERT_TRUE(policy->Restore({{30, 100}, {100, 900}}).ok());
  EXPECT_NEAR(policy->Index(0), 0.3 + std::sqrt(0.5 * std::log(1000.0) / 100), 1e-12);
  const auto more = *IndexPolicy::Create({.arms = 2,
                                          .kind = IndexPolicy::Kind::kSubGaussian,
                                          .variance_proxy = 0.25,
                                          .log_log_weight = 3});
  ASSERT_TRUE(more->Restore({{30, 100}, {100, 900}}).ok());
  const double level = std::log(1000.0) + 3 * std::log(std::log(1000.0));
  EXPECT_NEAR(more->Index(0), 0.3 + std::sqrt(0.5 * level / 100), 1e-12);
}

// Regret at a fixed gap grows like ln t: 10 times the rounds, far less than 10 times the regret.
TEST(IndexPolicyTest, FindsTheBestArm) {
  const auto policy = *IndexPolicy::Create({.arms = 4});
  TestRng rng(9);
  const std::vector<double> means = {0.3, 0.4, 0.7, 0.5};
  for (int t = 0; t < 5000; ++t) {
    const int arm = DrawArm(ProbabilitiesOf(*policy), rng.Uniform());
    const double reward = rng.Uniform() < means[arm] ? 1 : 0;
    ASSERT_TRUE(policy->Apply({.arm = arm, .reward = reward}).ok());
  }
  EXPECT_GT(policy->statistics()[2].events, 4000u);
}

// nu = 0.1: c_e = 201 / ln(1.01)^1.01 (e = 0.01), delta = ((sqrt(1.1) - 1) / 2)^2 / c_e; after one
// event each, with rewards 0 and v = 1/4, the index is 2 * 1.1 sqrt(0.5 * 1.01 ln(ln 2 / delta)).
TEST(LilUcbTest, StopsByTheRuleOfItsVariant) {
  const auto heuristic = *LilUcb::Create({.arms = 2});  // lambda = 6
  ASSERT_TRUE(heuristic->Apply({.arm = 0, .reward = 1}).ok());
  EXPECT_EQ(heuristic->Decision(), std::nullopt);  // the other arm was never shown
  ASSERT_TRUE(heuristic->Restore({{6, 6}, {0, 1}}).ok());
  EXPECT_EQ(heuristic->Decision(), std::nullopt);
  ASSERT_TRUE(heuristic->Restore({{7, 7}, {0, 1}}).ok());
  EXPECT_EQ(heuristic->Decision(), 0);
  EXPECT_EQ(ProbabilitiesOf(*heuristic), (std::vector<double>{1, 0}));

  const auto theory = *LilUcb::Create({.arms = 2, .variant = LilUcb::Variant::kTheory});
  ASSERT_TRUE(theory->Restore({{9, 9}, {0, 1}}).ok());
  EXPECT_EQ(theory->Decision(), std::nullopt);
  ASSERT_TRUE(theory->Restore({{10, 10}, {0, 1}}).ok());
  EXPECT_EQ(theory->Decision(), 0);
}

// More noise declared, a later answer; the answer is right.
TEST(LilUcbTest, NamesTheBestArmLaterBehindMoreNoise) {
  double previous = 0;
  for (const double proxy : {0.25, 1.0, 4.0}) {
    const auto policy = *LilUcb::Create({.arms = 3, .variance_proxy = proxy});
    TestRng rng(31);
    int events = 0;
    while (!policy->Decision().has_value() && events < 1'000'000) {
      const int arm = DrawArm(ProbabilitiesOf(*policy), rng.Uniform());
      const double mean = arm == 1 ? 0.9 : 0.3;
      ASSERT_TRUE(policy->Apply({.arm = arm, .reward = rng.Uniform() < mean ? 1.0 : 0.0}).ok());
      ++events;
    }
    EXPECT_EQ(policy->Decision(), 1);
    EXPECT_GT(events, previous);
    previous = events;
  }
}

}  // namespace
}  // namespace bandana::testing

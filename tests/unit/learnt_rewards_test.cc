// The mean of what a model has learnt, how its decisions were chosen, and the names of arms that
// callers send: as far as the mode lets them be told.
#include "server/models/learnt_rewards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "server/models/admission/sent_names.h"
#include "tests/support/hosted_model_fixture.h"

namespace bandana::testing {
namespace {

using server::ChoiceCounts;
using server::FillRewards;
using server::RewardSums;
using server::SentNames;
using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::IsEmpty;

class LearntRewardsTest : public HostedModelTest {
 protected:
  LearntRewardsTest() { options_.stepped = true; }

  void Report(HostedModel& model, std::uint64_t number, double reward) {
    const Decision decision = DecisionOf(model, clock_, number, {1, 0});
    EXPECT_THAT(model.RecordDecision(decision), IsOk());
    model.Report({{.decision = decision, .shown = 0, .reward = reward}}, [](auto) {});
    model.Step();
  }
};

TEST_F(LearntRewardsTest, AreTheMeanOfReportsWithoutPrivacy) {
  const auto model = Open(SharedSpec("reward_min: -1 reward_max: 1"));
  EXPECT_FALSE(model->Stats().has_rewards());
  Report(*model, 1, 1);
  Report(*model, 2, -0.5);
  const v1::RewardStats rewards = model->Stats().rewards();
  EXPECT_EQ(rewards.rewards(), 2);
  EXPECT_THAT(rewards.mean(), DoubleEq(0.25));
  EXPECT_FALSE(rewards.has_low());
  EXPECT_THAT(model->learnt_rewards()->above_min, DoubleEq(2.5));
}

// Default reward 0.25 where no report comes.
TEST_F(LearntRewardsTest, CountADecisionWhenItsWindowCloses) {
  const auto model = Open(WindowSpec("token_lifetime { seconds: 3600 }"));
  Report(*model, 1, 1);
  EXPECT_THAT(model->RecordDecision(DecisionOf(*model, clock_, 2, {1, 0})), IsOk());
  model->Step();
  EXPECT_FALSE(model->Stats().has_rewards());
  clock_.Advance(absl::Minutes(2));
  model->Step();
  EXPECT_EQ(model->Stats().rewards().rewards(), 2);
  EXPECT_THAT(model->Stats().rewards().mean(), DoubleEq((1 + 0.25) / 2));
}

// Outputs 0 and 1 of a binary randomizer at epsilon 2: values (b - q) / (1 - 2 q) for b = 0 and 1,
// where q = 1 / (1 + e^2).
TEST_F(LearntRewardsTest, AreReleasedValuesWithAnIntervalWhereDevicesRandomize) {
  const auto model =
      Open(SpecOf("name: 'm' dimension: 2 mode: LOCAL_REWARD shared {} reward_min: 0 reward_max: 1"
                  " reward_binary: true privacy { epsilon: 2 mechanism: REWARD_RANDOMIZER }"
                  " reporting { one_per_decision: true }"));
  std::vector<ReportedOutcome> outcomes;
  for (std::uint64_t number = 1; number <= 4; ++number) {
    outcomes.push_back({.decision = DecisionOf(*model, clock_, number, {1, 0}),
                        .shown = 0,
                        .output = number == 1 ? 0u : 1u});
  }
  model->Report(std::move(outcomes), [](auto) {});
  model->Step();
  const v1::RewardStats rewards = model->Stats().rewards();
  ASSERT_EQ(rewards.rewards(), 4);
  const double q = 1 / (1 + std::exp(2.0));
  const double low = -q / (1 - 2 * q);
  const double high = (1 - q) / (1 - 2 * q);
  const double mean = (low + 3 * high) / 4;
  EXPECT_THAT(rewards.mean(), DoubleNear(mean, 1e-3));
  // Squares about the mean: one of 9/16, three of 1/16, each times (high - low)^2; over 3.
  const double stddev = (high - low) * std::sqrt((9.0 + 3.0) / 16 / 3);
  EXPECT_THAT(rewards.low(), DoubleNear(mean - 1.959964 * stddev / 2, 2e-3));
  EXPECT_THAT(rewards.high(), DoubleNear(mean + 1.959964 * stddev / 2, 2e-3));
}

TEST_F(LearntRewardsTest, AreNotToldWhereEntriesHoldNoRewards) {
  const char* const kOthers[] = {"arms { policy: TSALLIS_INF }",
                                 "points { domain: BALL radius: 1 smoothness: 1 }"};
  for (const char* const family : kOthers) {
    EXPECT_EQ(server::LearntRewards::Of(
                  SpecOf(std::string("name: 'm' dimension: 2 mode: NON_PRIVATE ") + family)),
              nullptr)
        << family;
  }
}

TEST_F(LearntRewardsTest, AreNobodysToTellInOtherModes) {
  const char* const kPrivate[] = {
      "mode: LOCAL_REWARD shared {} privacy { epsilon: 1 mechanism: CENTRED_RANDOMIZER }"
      " reporting { one_per_decision: true }",
      "mode: CENTRAL_REWARD shared {} privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }"
      " reporting { reward_window { duration { seconds: 60 } grace {} } }",
      "mode: JOINT shared {} privacy { epsilon: 1 delta: 1e-6 mechanism: COUNTER"
      " counter { horizon: 100 steps_max: 200 } }"
      " reporting { reward_window { duration { seconds: 60 } grace {} } }"};
  for (const char* const mode : kPrivate) {
    EXPECT_EQ(server::LearntRewards::Of(SpecOf(std::string("name: 'm' dimension: 2 ") + mode)),
              nullptr)
        << mode;
  }
}

TEST_F(LearntRewardsTest, PrivateModelsCountNoChoices) {
  const auto open = Open(SharedSpec());
  open->CountChoice(true);
  open->CountChoice(false);
  open->CountChoice(std::nullopt);
  EXPECT_EQ(open->Stats().choices().decisions(), 3);
  EXPECT_EQ(open->Stats().choices().ranked(), 2);
  EXPECT_EQ(open->Stats().choices().explored(), 1);
  TempDir folder;
  const auto hidden =
      HostedModel::Open(SpecOf("name: 'p' dimension: 2 mode: LOCAL_REWARD shared {}"
                               " privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }"
                               " reporting { one_per_decision: true }"),
                        folder.path(), clock_, options_);
  ASSERT_THAT(hidden, IsOk());
  (*hidden)->CountChoice(true);
  EXPECT_FALSE((*hidden)->Stats().has_choices());
}

TEST(FillRewards, OneNoisyValueHasNoInterval) {
  v1::RewardStats stats;
  FillRewards({.count = 1, .min = -1, .above_min = 1.5, .squares = 2.25, .noisy = true}, stats);
  EXPECT_THAT(stats.mean(), DoubleEq(0.5));
  EXPECT_FALSE(stats.has_low());
}

TEST(SentNames, AreThoseThatTookAPlaceLast) {
  SentNames names(/*keeps=*/true);
  EXPECT_THAT(names.NameOf(7), IsEmpty());
  names.Note(7, "pizza");
  names.Note(8, "soup");
  EXPECT_EQ(names.NameOf(7), "pizza");
  names.Note(7 + SentNames::kPlaces, "salad");
  EXPECT_THAT(names.NameOf(7), IsEmpty());
  EXPECT_EQ(names.NameOf(7 + SentNames::kPlaces), "salad");
  EXPECT_EQ(names.NameOf(8), "soup");
  names.Note(kAbsent, "nobody");
  EXPECT_THAT(names.NameOf(kAbsent), IsEmpty());
}

TEST(SentNames, AreNotKeptWhereContextsArePrivate) {
  SentNames names(/*keeps=*/false);
  names.Note(7, "pizza");
  EXPECT_THAT(names.NameOf(7), IsEmpty());
}

}  // namespace
}  // namespace bandana::testing

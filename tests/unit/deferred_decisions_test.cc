// Decisions that count from their activation on, and slots that count together, in a model whose
// windows the server closes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "common/promise/event_rule.h"
#include "server/models/hosted_model.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

class DeferredDecisionsTest : public HostedModelTest {
 protected:
  // A window of a minute, default reward 0.25, token_lifetime 3600 s.
  std::unique_ptr<HostedModel> OpenWindow(const std::string& more = "") {
    options_.stepped = true;
    return Open(WindowSpec("token_lifetime { seconds: 3600 } " + more));
  }
  void UseNoiseKey() {
    options_.stepped = true;
    const std::array<std::byte, 32> key{};
    options_.noise_key = std::make_shared<const NoiseKey>(*NoiseKey::FromBytes(key));
  }
  std::vector<ReportResult> Activate(HostedModel& model,
                                     std::vector<std::vector<Decision>> decisions) {
    std::optional<absl::StatusOr<std::vector<ReportResult>>> results;
    model.Activate(std::move(decisions),
                   [&](absl::StatusOr<std::vector<ReportResult>> answer) { results = answer; });
    model.Step();
    EXPECT_TRUE(results.has_value());
    EXPECT_THAT(*results, IsOk());
    return results->value_or(std::vector<ReportResult>());
  }
  ReportResult ActivateOne(HostedModel& model, const Decision& decision) {
    return Activate(model, {{decision}}).front();
  }
  absl::StatusOr<ReportResult> Report(HostedModel& model, const Decision& decision, double reward) {
    std::optional<absl::StatusOr<std::vector<ReportResult>>> results;
    model.Report({{.decision = decision, .shown = 0, .reward = reward}},
                 [&](absl::StatusOr<std::vector<ReportResult>> answer) { results = answer; });
    model.Step();
    if (!results->ok()) return results->status();
    return (*results)->front();
  }
  Decision Deferred(const HostedModel& model, std::uint64_t number) {
    Decision decision = DecisionOf(model, clock_, number, {1, 0});
    decision.deferred = true;
    return decision;
  }
  void Pass(HostedModel& model, absl::Duration time) {
    clock_.Advance(time);
    model.Step();
  }
  static std::uint64_t Events(HostedModel& model) { return StatisticsOf(model)[0].events; }
};

TEST_F(DeferredDecisionsTest, WhatIsNeverActivatedIsNoEvent) {
  const auto model = OpenWindow();
  Deferred(*model, 1);
  Pass(*model, absl::Minutes(20));
  EXPECT_EQ(Events(*model), 0);
  EXPECT_EQ(model->Stats().log_sequence(), 0);
}

TEST_F(DeferredDecisionsTest, TheWindowOpensAtTheActivation) {
  const auto model = OpenWindow();
  const Decision decision = Deferred(*model, 1);
  Pass(*model, absl::Seconds(50));
  EXPECT_EQ(ActivateOne(*model, decision).code, v1::APPLIED);
  Pass(*model, absl::Seconds(50));  // 100 s after the decision
  EXPECT_EQ(Report(*model, decision, 1)->code, v1::APPLIED);
  const std::uint64_t open = model->Stats().log_sequence();
  clock_.Advance(absl::Seconds(9));
  EXPECT_EQ(Report(*model, decision, 1)->code, v1::DUPLICATE);  // still open
  EXPECT_EQ(model->Stats().log_sequence(), open);
  Pass(*model, absl::Seconds(2));
  EXPECT_GT(model->Stats().log_sequence(), open);
  EXPECT_EQ(Events(*model), 1);
  EXPECT_THAT(StatisticsOf(*model)[0].moment[0], DoubleEq(1));
}

TEST_F(DeferredDecisionsTest, ARepeatedActivationChangesNothing) {
  const auto model = OpenWindow();
  const Decision decision = Deferred(*model, 1);
  EXPECT_EQ(ActivateOne(*model, decision).code, v1::APPLIED);
  Pass(*model, absl::Seconds(40));
  EXPECT_EQ(ActivateOne(*model, decision).code, v1::APPLIED);
  Pass(*model, absl::Seconds(21));  // the first window is over, a second one would not be
  EXPECT_EQ(Events(*model), 1);
  EXPECT_EQ(ActivateOne(*model, decision).code, v1::APPLIED);
  Pass(*model, absl::Minutes(2));
  EXPECT_EQ(Events(*model), 1);
  EXPECT_THAT(StatisticsOf(*model)[0].moment[0], DoubleEq(0.25));
}

TEST_F(DeferredDecisionsTest, ReportsBeforeTheActivationAreRefusedAndLeaveNothing) {
  const auto model = OpenWindow();
  const Decision decision = Deferred(*model, 1);
  EXPECT_EQ(Report(*model, decision, 1)->reason, v1::NOT_ACTIVATED);
  EXPECT_EQ(ActivateOne(*model, decision).code, v1::APPLIED);
  Pass(*model, absl::Minutes(2));
  EXPECT_THAT(StatisticsOf(*model)[0].moment[0], DoubleEq(0.25));
  EXPECT_EQ(Report(*model, decision, 1)->code, v1::EXPIRED);
}

TEST_F(DeferredDecisionsTest, ActivationHasItsTime) {
  const auto model = OpenWindow();
  const absl::Duration within = EventRuleOf(model->spec().public_spec).activated_within;
  EXPECT_EQ(within, absl::Minutes(6));  // the window and five minutes
  const Decision early = Deferred(*model, 1);
  const Decision late = Deferred(*model, 2);
  Pass(*model, within - absl::Seconds(1));
  EXPECT_EQ(ActivateOne(*model, early).code, v1::APPLIED);
  Pass(*model, absl::Seconds(1));
  EXPECT_EQ(ActivateOne(*model, late).code, v1::EXPIRED);
  EXPECT_EQ(Report(*model, late, 1)->code, v1::EXPIRED);
  Pass(*model, absl::Minutes(2));
  EXPECT_EQ(Events(*model), 1);
}

TEST_F(DeferredDecisionsTest, TheWindowOfAnActivatedDecisionSurvivesARestart) {
  auto model = OpenWindow();
  const Decision decision = Deferred(*model, 1);
  Pass(*model, absl::Seconds(30));
  EXPECT_EQ(ActivateOne(*model, decision).code, v1::APPLIED);
  model.reset();
  model = OpenWindow();
  EXPECT_EQ(ActivateOne(*model, decision).code, v1::APPLIED);
  EXPECT_EQ(Report(*model, decision, 1)->code, v1::APPLIED);
  Pass(*model, absl::Seconds(61));
  EXPECT_EQ(Events(*model), 1);
  EXPECT_THAT(StatisticsOf(*model)[0].moment[0], DoubleEq(1));
}

TEST_F(DeferredDecisionsTest, OneThatWasNotDeferredCountsAlready) {
  const auto model = OpenWindow();
  const Decision decision = DecisionOf(*model, clock_, 1, {1, 0});
  ASSERT_THAT(model->RecordDecision(decision), IsOk());
  EXPECT_EQ(ActivateOne(*model, decision).code, v1::APPLIED);
  Pass(*model, absl::Minutes(2));
  EXPECT_EQ(Events(*model), 1);
}

TEST_F(DeferredDecisionsTest, AnotherEpochIsForeign) {
  const auto model = OpenWindow();
  const Decision decision = Deferred(*model, 1);
  ASSERT_THAT(model->OpenEpoch(), IsOk());
  EXPECT_EQ(ActivateOne(*model, decision).reason, v1::TOKEN_FOREIGN);
}

TEST_F(DeferredDecisionsTest, NothingIsActivatedWithoutWindows) {
  options_.stepped = true;
  const auto model = Open(SharedSpec());
  absl::Status status;
  model->Activate({{Deferred(*model, 1)}}, [&](auto results) { status = results.status(); });
  EXPECT_THAT(status, StatusIs(Code::kFailedPrecondition, "model m closes no reward windows"));
}

// The user has room for two events: of three slots none counts, of two both do.
TEST_F(DeferredDecisionsTest, SlotsCountTogetherOrNotAtAll) {
  UseNoiseKey();
  const auto model =
      Open(SpecOf("name: 'm' dimension: 2 mode: CENTRAL_REWARD independent {} refresh_interval {}"
                  " privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER events_per_user_max: 2 }"
                  " reporting { reward_window { duration { seconds: 60 } grace {} } }"));
  const auto slots = [&](std::uint64_t first, int count) {
    std::vector<Decision> all;
    for (int i = 0; i < count; ++i) {
      all.push_back(DecisionOf(*model, clock_, first + i, {1, 0}, "ann"));
    }
    return all;
  };
  ASSERT_THAT(model->RecordSlots(slots(1, 3)), IsOk());
  model->Step();
  EXPECT_EQ(model->Stats().log_sequence(), 0);
  ASSERT_THAT(model->RecordSlots(slots(11, 2)), IsOk());
  Pass(*model, absl::Minutes(2));
  EXPECT_EQ(Events(*model), 2);
  EXPECT_EQ(model->Ledger().events(), 2);
}

TEST_F(DeferredDecisionsTest, AnActivationOpensTheSlotsThatAreNotOpenYet) {
  const auto model = OpenWindow();
  std::vector<Decision> slots = {Deferred(*model, 1), Deferred(*model, 2), Deferred(*model, 3)};
  EXPECT_EQ(ActivateOne(*model, slots[1]).code, v1::APPLIED);
  EXPECT_EQ(Activate(*model, {slots}).front().code, v1::APPLIED);
  Pass(*model, absl::Minutes(2));
  EXPECT_EQ(Events(*model), 3);
}

// Rewards 1 and 0.5 of the two that agree, and one that is never reported: its default counts.
TEST_F(DeferredDecisionsTest, AnApprenticeIsToldWhatItWouldHaveBrought) {
  const auto model = OpenWindow();
  EXPECT_FALSE(model->Stats().has_apprentice());
  const auto own = [&](std::uint64_t number, bool agreed) {
    Decision decision = DecisionOf(*model, clock_, number, {1, 0});
    decision.arms[0].agreed = agreed;
    EXPECT_THAT(model->RecordDecision(decision), IsOk());
    model->CountBaseline(agreed);
    return decision;
  };
  EXPECT_EQ(Report(*model, own(1, true), 1)->code, v1::APPLIED);
  EXPECT_EQ(Report(*model, own(2, true), 0.5)->code, v1::APPLIED);
  own(3, false);
  const v1::ApprenticeStats stats = model->Stats().apprentice();
  EXPECT_EQ(stats.decisions(), 3);
  EXPECT_EQ(stats.agreements(), 2);
  EXPECT_THAT(stats.reward_of_agreements(), DoubleEq(0.75));
  EXPECT_THAT(stats.reward(), DoubleEq((1 + 0.5 + 0.25) / 3));
}

TEST_F(DeferredDecisionsTest, PrivateModelsTellNoRewardsOfAnApprenticeAndJointOnesNothing) {
  UseNoiseKey();
  const std::string window = " reporting { reward_window { duration { seconds: 60 } grace {} } }";
  const auto central =
      Open(SpecOf("name: 'm' dimension: 2 mode: CENTRAL_REWARD shared {}"
                  " privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }" +
                  window));
  central->CountBaseline(true);
  EXPECT_EQ(central->Stats().apprentice().agreements(), 1);
  EXPECT_FALSE(central->Stats().apprentice().has_reward());
  EXPECT_FALSE(central->Stats().apprentice().has_reward_of_agreements());
  TempDir folder;
  auto joint = HostedModel::Open(
      SpecOf("name: 'j' dimension: 2 mode: JOINT shared {} privacy { epsilon: 1 delta: 1e-6"
             " mechanism: COUNTER counter { horizon: 100 steps_max: 200 } }" +
             window),
      folder.path(), clock_, options_);
  ASSERT_THAT(joint, IsOk());
  (*joint)->CountBaseline(true);
  EXPECT_FALSE((*joint)->Stats().has_apprentice());
}

}  // namespace
}  // namespace bandana::testing

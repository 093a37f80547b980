#include "server/models/hosted_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/hosted_model_fixture.h"
#include "tests/support/mechanisms.h"
#include "tests/support/model_harness.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

TEST_F(HostedModelTest, AppliesAReportAndPublishesThePosterior) {
  const auto model = Open(SharedSpec());
  const Decision decision = DecisionOf(*model, clock_, 1, {1, 0});
  EXPECT_EQ(CodeOf(ReportOne(*model, decision, 0.5)), v1::APPLIED);
  WaitApplied(*model);
  // K = (I + x x')^-1 and m = K x r with x = (1, 0), r = 1/2.
  const auto snapshot = model->posterior();
  const NodePosterior& posterior = NodeOf(*snapshot, 0);
  EXPECT_THAT(posterior.mean, ElementsAre(DoubleEq(0.25), 0));
  EXPECT_THAT(posterior.covariance, ElementsAre(DoubleEq(0.5), 0, 0, 1));
  EXPECT_EQ(model->Stats().reports_applied(), 1);
  EXPECT_EQ(model->Stats().log_sequence(), 1);
  EXPECT_EQ(model->Stats().posterior_version(), 1);
}

TEST_F(HostedModelTest, ARepeatedDecisionIsADuplicateWhateverItsReward) {
  auto model = Open(SharedSpec());
  const Decision decision = DecisionOf(*model, clock_, 1, {1, 0});
  EXPECT_EQ(CodeOf(ReportOne(*model, decision, 0.5)), v1::APPLIED);
  EXPECT_EQ(CodeOf(ReportOne(*model, decision, 0.5)), v1::DUPLICATE);
  EXPECT_EQ(CodeOf(ReportOne(*model, decision, 0.9)), v1::DUPLICATE);
  model.reset();
  model = Open(SharedSpec());
  EXPECT_EQ(CodeOf(ReportOne(*model, decision, 0.1)), v1::DUPLICATE);
  EXPECT_EQ(model->Stats().reports_applied(), 1);
  EXPECT_EQ(model->Stats().reports_duplicate(), 3);
  EXPECT_EQ(StatisticsOf(*model)[0].events, 1);
}

TEST_F(HostedModelTest, TheSameDecisionTwiceInOneCallIsAppliedOnce) {
  const auto model = Open(SharedSpec());
  const Decision decision = DecisionOf(*model, clock_, 1, {1, 0});
  const auto results =
      ReportAll(*model, {{.decision = decision, .reward = 1}, {.decision = decision, .reward = 0}});
  ASSERT_THAT(results, IsOk());
  EXPECT_EQ((*results)[0].code, v1::APPLIED);
  EXPECT_EQ((*results)[1].code, v1::DUPLICATE);
}

TEST_F(HostedModelTest, StateSurvivesARestart) {
  auto model = Open(SharedSpec());
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, i, {0.6, 0.8}), 0.5)),
              v1::APPLIED);
  }
  const auto instance = model->instance();
  const auto before = StatisticsOf(*model);
  model.reset();
  model = Open(SharedSpec());
  EXPECT_EQ(model->instance(), instance);
  EXPECT_EQ(model->Stats().reports_applied(), 200);
  EXPECT_EQ(model->Stats().applied_sequence(), 200);
  EXPECT_EQ(model->posterior()->version(), 200);
  EXPECT_EQ(StatisticsOf(*model)[0].events, 200);
  EXPECT_EQ(StatisticsOf(*model)[0].gram, before[0].gram);
  EXPECT_EQ(StatisticsOf(*model)[0].moment, before[0].moment);
}

TEST_F(HostedModelTest, RejectionsSayWhyAndAreCounted) {
  auto model = Open(SharedSpec("reward_out_of_range: REJECT"));
  Decision decision = DecisionOf(*model, clock_, 1, {1, 0});
  EXPECT_EQ(ReasonOf(ReportOne(*model, decision, 0.5, 1)), v1::SHOWN_OUT_OF_RANGE);
  EXPECT_EQ(ReasonOf(ReportOne(*model, decision, std::nullopt)), v1::REWARD_MISSING);
  EXPECT_EQ(ReasonOf(ReportOne(*model, decision, std::nan(""))), v1::REWARD_MISSING);
  EXPECT_EQ(ReasonOf(ReportOne(*model, decision, 1.5)), v1::REWARD_OUT_OF_RANGE);
  EXPECT_EQ(ReasonOf(ReportOne(*model, decision, -std::numeric_limits<double>::infinity())),
            v1::REWARD_OUT_OF_RANGE);
  decision.epoch = 7;
  EXPECT_EQ(ReasonOf(ReportOne(*model, decision, 0.5)), v1::TOKEN_FOREIGN);
  decision.epoch = model->epoch();
  decision.node = 1;
  EXPECT_EQ(ReasonOf(ReportOne(*model, decision, 0.5)), v1::TOKEN_INVALID);
  model->CountRejected(v1::REJECTED, v1::TOKEN_INVALID, 2);
  model->CountVectors(5, 5);
  model.reset();
  model = Open(SharedSpec("reward_out_of_range: REJECT"));
  EXPECT_THAT(model->Stats().reports_rejected(),
              UnorderedElementsAre(Pair("shown_out_of_range", 1), Pair("reward_missing", 2),
                                   Pair("reward_out_of_range", 2), Pair("token_foreign", 1),
                                   Pair("token_invalid", 3)));
  EXPECT_EQ(model->Stats().features_clipped(), 5);
  EXPECT_EQ(model->Stats().reports_applied(), 0);
  EXPECT_EQ(model->Stats().log_sequence(), 0);
}

TEST_F(HostedModelTest, RewardsOutOfRangeAreClippedAndCounted) {
  const auto model = Open(SharedSpec("reward_min: -1 reward_max: 2"));
  EXPECT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, 1, {1, 0}), 5)), v1::APPLIED);
  EXPECT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, 2, {0, 1}), -5)), v1::APPLIED);
  EXPECT_THAT(StatisticsOf(*model)[0].moment, ElementsAre(2, -1));
  EXPECT_EQ(model->Stats().rewards_clipped(), 2);
}

TEST_F(HostedModelTest, ExpiredTokensAreRefusedEvenAfterTheirIdsAreForgotten) {
  auto model = Open(SharedSpec("token_lifetime { seconds: 60 }"));
  const Decision decision = DecisionOf(*model, clock_, 1, {1, 0});
  const Decision unreported = DecisionOf(*model, clock_, 2, {1, 0});
  EXPECT_EQ(CodeOf(ReportOne(*model, decision, 0.5)), v1::APPLIED);
  EXPECT_EQ(model->Stats().decisions_open(), 1);
  clock_.Advance(absl::Seconds(61));
  EXPECT_EQ(CodeOf(ReportOne(*model, unreported, 0.5)), v1::EXPIRED);
  clock_.Advance(absl::Seconds(30));
  EXPECT_TRUE(Eventually([&] { return model->Stats().decisions_open() == 0; }));
  EXPECT_EQ(CodeOf(ReportOne(*model, decision, 0.5)), v1::EXPIRED);
  // Not even a clock that is set back, or a longer life, lets a forgotten id in again.
  model.reset();
  clock_.Advance(-absl::Seconds(90));
  model = Open(SharedSpec("token_lifetime { seconds: 3600 }"));
  EXPECT_EQ(CodeOf(ReportOne(*model, decision, 0.5)), v1::EXPIRED);
  EXPECT_EQ(model->Stats().reports_rejected().at("expired"), 3);
  EXPECT_EQ(StatisticsOf(*model)[0].events, 1);
}

TEST_F(HostedModelTest, BeyondDecisionsOpenMaxReportsAreUnavailable) {
  const auto model = Open(SharedSpec("decisions_open_max: 1000"));
  std::vector<ReportedOutcome> outcomes;
  for (int i = 0; i < 1000; ++i) {
    outcomes.push_back({.decision = DecisionOf(*model, clock_, i, {1, 0}), .reward = 0});
  }
  ASSERT_THAT(ReportAll(*model, outcomes), IsOk());
  const Decision one_more = DecisionOf(*model, clock_, 1000, {1, 0});
  EXPECT_THAT(ReportOne(*model, one_more, 0),
              StatusIs(absl::StatusCode::kUnavailable, "decisions_open_max = 1000"));
  EXPECT_EQ(CodeOf(ReportOne(*model, outcomes[5].decision, 0)), v1::DUPLICATE);
  clock_.Advance(absl::Hours(25));
  ASSERT_TRUE(Eventually([&] { return model->Stats().decisions_open() == 0; }));
  EXPECT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, 1000, {1, 0}), 0)), v1::APPLIED);
}

// Independent users.

TEST_F(HostedModelTest, IndependentUsersBecomeNodesAtTheirFirstAcceptedReport) {
  auto model = Open(IndependentSpec("", "users_max: 2"));
  EXPECT_THAT(model->ResolveUser("ann"), IsOkAndHolds(-1));
  EXPECT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, 1, {1, 0}, "ann"), 1)),
            v1::APPLIED);
  EXPECT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, 2, {1, 0}, "bob"), 0)),
            v1::APPLIED);
  EXPECT_EQ(ReasonOf(ReportOne(*model, DecisionOf(*model, clock_, 3, {1, 0}, "cid"), 0)),
            v1::USER_LIMIT);
  EXPECT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, 4, {1, 0}, "ann"), 1)),
            v1::APPLIED);
  WaitApplied(*model);
  EXPECT_THAT(model->ResolveUser("ann"), IsOkAndHolds(0));
  EXPECT_THAT(model->ResolveUser("bob"), IsOkAndHolds(1));
  EXPECT_THAT(model->ResolveUser("cid"), IsOkAndHolds(-1));
  EXPECT_DOUBLE_EQ(NodeOf(*model->posterior(), 0).mean[0], 2.0 / 3);
  EXPECT_EQ(model->Stats().nodes(), 2);
  ASSERT_THAT(model->Checkpoint(), IsOk());
  ASSERT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, 5, {1, 0}, "bob"), 1)),
            v1::APPLIED);
  model.reset();
  model = Open(IndependentSpec("", "users_max: 3"));
  EXPECT_THAT(model->ResolveUser("bob"), IsOkAndHolds(1));
  EXPECT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, 6, {1, 0}, "cid"), 0)),
            v1::APPLIED);
  EXPECT_THAT(model->ResolveUser("cid"), IsOkAndHolds(2));
  EXPECT_EQ(model->Ledger().events_of_one_user_max(), 2);
  // A lower limit keeps out new users only, and loses none.
  model.reset();
  model = Open(IndependentSpec("", "users_max: 1"));
  EXPECT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, 7, {1, 0}, "cid"), 0)),
            v1::APPLIED);
  EXPECT_EQ(ReasonOf(ReportOne(*model, DecisionOf(*model, clock_, 8, {1, 0}, "dan"), 0)),
            v1::USER_LIMIT);
}

TEST_F(HostedModelTest, UserIdsAreChecked) {
  const auto model = Open(IndependentSpec());
  EXPECT_THAT(model->ResolveUser(""), StatusIs(absl::StatusCode::kInvalidArgument, "user"));
  EXPECT_THAT(model->ResolveUser(std::string(129, 'u')),
              StatusIs(absl::StatusCode::kInvalidArgument, "user"));
}

// Local models.

TEST_F(HostedModelTest, LocalModelsUseTheRandomizersValue) {
  const ModelSpec spec = LocalColinSpec();
  const auto model = Open(spec);
  const RewardRandomizer randomizer = testing::RandomizerOf(spec.public_spec);
  const std::uint32_t last = randomizer.outputs() - 1;
  EXPECT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, 1, {1, 0}, "1"), last)),
            v1::APPLIED);
  EXPECT_EQ(ReasonOf(ReportOne(*model, DecisionOf(*model, clock_, 2, {1, 0}, "1"), last + 1)),
            v1::OUTPUT_OUT_OF_RANGE);
  EXPECT_THAT(StatisticsOf(*model)[1].moment, ElementsAre(randomizer.Value(last), 0));
}

// An event in a window a tenth as wide weighs as its variance says.
TEST_F(HostedModelTest, CentredReportsAreWeighedByTheirWindow) {
  const ModelSpec spec = SpecOf(
      "name: 'm' dimension: 2 shared {} mode: LOCAL_REWARD reward_min: -1 reward_max: 1 "
      "reward_stddev: 0.1 reporting { one_per_decision: true } "
      "privacy { epsilon: 1 mechanism: CENTRED_RANDOMIZER }");
  const auto model = Open(spec);
  const RewardRandomizer randomizer = testing::RandomizerOf(spec.public_spec);
  EXPECT_DOUBLE_EQ(spec.bandit.observation_variance, 0.01 + randomizer.VarianceMax());
  const RewardRange window{0.2, 0.4};
  const std::uint32_t output = randomizer.outputs() - 1;
  const auto decided = [&](int number) {
    Decision decision = DecisionOf(*model, clock_, number, {0.5, 0});
    decision.arms[0].window = window;
    return decision;
  };
  const auto report = [&](ReportedOutcome outcome) {
    return ReportAll(*model, {std::move(outcome)})->front();
  };
  EXPECT_EQ(report({.decision = decided(1), .output = output}).code, v1::APPLIED);
  const double scale =
      std::sqrt((0.01 + randomizer.VarianceMax()) / (0.01 + randomizer.VarianceMaxIn(window)));
  const NodeStatistics inside = StatisticsOf(*model)[0];
  EXPECT_NEAR(inside.gram[0], scale * scale * 0.25, 1e-12);
  EXPECT_NEAR(inside.moment[0], scale * scale * 0.5 * randomizer.ValueIn(window, output), 1e-12);
  EXPECT_EQ(inside.events, 1u);
  // In the whole range it is an ordinary event.
  EXPECT_EQ(report({.decision = decided(2), .output = output, .whole_range = true}).code,
            v1::APPLIED);
  EXPECT_NEAR(StatisticsOf(*model)[0].gram[0] - inside.gram[0], 0.25, 1e-12);
  EXPECT_EQ(model->places()->above, 1u);
  EXPECT_EQ(model->places()->inside + model->places()->below, 0u);
  // A token without a window, or with one that this model does not give.
  EXPECT_EQ(report({.decision = DecisionOf(*model, clock_, 3, {1, 0}), .output = output}).reason,
            v1::TOKEN_INVALID);
  Decision wide = decided(4);
  wide.arms[0].window = RewardRange{-2, 0};
  EXPECT_EQ(report({.decision = wide, .output = output}).reason, v1::TOKEN_INVALID);
  EXPECT_EQ(report({.decision = decided(5), .output = output + 1}).reason, v1::OUTPUT_OUT_OF_RANGE);
}

TEST_F(HostedModelTest, EventsPerUserEndWithTheLimitAndStartAnewWithAnEpoch) {
  auto model = Open(LocalColinSpec());
  const Decision first = DecisionOf(*model, clock_, 1, {1, 0}, "2");
  for (int i = 1; i <= 3; ++i) {
    ASSERT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, i, {1, 0}, "2"), 0)),
              v1::APPLIED);
  }
  EXPECT_EQ(ReasonOf(ReportOne(*model, DecisionOf(*model, clock_, 4, {1, 0}, "2"), 0)),
            v1::USER_LIMIT);
  EXPECT_EQ(CodeOf(ReportOne(*model, first, 0)), v1::DUPLICATE);  // a retry at the limit
  EXPECT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, 5, {1, 0}, "0"), 0)), v1::APPLIED);
  const Decision old = DecisionOf(*model, clock_, 6, {1, 0}, "0");
  EXPECT_THAT(model->OpenEpoch(), IsOkAndHolds(2));
  EXPECT_EQ(model->epoch(), 2);
  EXPECT_EQ(ReasonOf(ReportOne(*model, old, 0)), v1::TOKEN_FOREIGN);
  EXPECT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, 7, {1, 0}, "2"), 0)), v1::APPLIED);
  for (const bool checkpointed : {false, true}) {
    if (checkpointed) {
      ASSERT_THAT(model->Checkpoint(), IsOk());
    }
    model.reset();
    model = Open(LocalColinSpec());
    EXPECT_EQ(model->epoch(), 2);
    const v1::GetLedgerResponse ledger = model->Ledger();
    EXPECT_EQ(ledger.events(), 5);
    EXPECT_EQ(ledger.events_of_one_user_max(), 4);
    EXPECT_EQ(ledger.epsilon_spent_event(), 1);
    EXPECT_EQ(ledger.epsilon_spent_user(), 4);
    EXPECT_EQ(ledger.epoch(), 2);
  }
  for (int i = 8; i <= 9; ++i) {
    EXPECT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, i, {1, 0}, "2"), 0)),
              v1::APPLIED);
  }
  EXPECT_EQ(ReasonOf(ReportOne(*model, DecisionOf(*model, clock_, 10, {1, 0}, "2"), 0)),
            v1::USER_LIMIT);
}

TEST_F(HostedModelTest, PooledNodesAreNotLimited) {
  const auto model = Open(SpecOf(
      "name: 'm' dimension: 2 mode: LOCAL_REWARD shared {} reporting { one_per_decision: true }"
      " privacy { epsilon: 1 events_per_user_max: 1 }"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, i, {1, 0}), 0)), v1::APPLIED);
  }
}

TEST_F(HostedModelTest, GraphUsersAreNodeNumbers) {
  const auto model = Open(LocalColinSpec());
  EXPECT_THAT(model->ResolveUser("0"), IsOkAndHolds(0));
  EXPECT_THAT(model->ResolveUser("2"), IsOkAndHolds(2));
  for (const char* unknown : {"3", "-1", "01", "1 ", "ann", "99999999999999"}) {
    EXPECT_THAT(model->ResolveUser(unknown), StatusIs(absl::StatusCode::kNotFound)) << unknown;
  }
}

TEST_F(HostedModelTest, ThePosteriorIsComputedAnewWhileReportsAreTaken) {
  options_.rebuild_entries = 64;
  const ModelSpec spec = SpecOf(
      "name: 'm' dimension: 2 mode: NON_PRIVATE colin { graph { users: 3"
      " rows: [0, 1, 2, 0, 1] columns: [0, 1, 2, 1, 2] weights: [1, 1, 1, 0.5, 0.5] } }");
  auto model = Open(spec);
  for (int i = 0; i < 300; ++i) {
    const double angle = 0.01 * i;
    const Decision decision =
        DecisionOf(*model, clock_, i, {std::cos(angle), std::sin(angle)}, std::to_string(i % 3));
    ASSERT_EQ(CodeOf(ReportOne(*model, decision, i % 2 == 0 ? 0.9 : 0.2)), v1::APPLIED);
  }
  WaitApplied(*model);
  std::vector<NodePosterior> served;
  for (int node = 0; node < 3; ++node) served.push_back(NodeOf(*model->posterior(), node));
  model.reset();
  model = Open(spec);  // from its statistics
  for (int node = 0; node < 3; ++node) {
    const NodePosterior opened = NodeOf(*model->posterior(), node);
    EXPECT_THAT(served[node].mean, Pointwise(DoubleNear(1e-9), opened.mean));
    EXPECT_THAT(served[node].covariance, Pointwise(DoubleNear(1e-9), opened.covariance));
  }
}

// Reward windows.

TEST_F(HostedModelTest, AWindowAppliesTheDefaultAtItsClose) {
  const auto model = Open(WindowSpec());
  ASSERT_THAT(model->RecordDecision(DecisionOf(*model, clock_, 1, {1, 0})), IsOk());
  ASSERT_TRUE(Eventually([&] { return model->Stats().log_sequence() == 1; }));
  WaitApplied(*model);
  EXPECT_EQ(StatisticsOf(*model)[0].events, 0);
  clock_.Advance(absl::Seconds(61));
  EXPECT_TRUE(Eventually([&] { return StatisticsOf(*model)[0].events == 1; }));
  EXPECT_THAT(StatisticsOf(*model)[0].moment, ElementsAre(0.25, 0));
  EXPECT_EQ(model->Stats().reports_applied(), 0);
}

TEST_F(HostedModelTest, AWindowAppliesTheReportOnceAtItsCloseAndRefusesLaterOnes) {
  const auto model = Open(WindowSpec());
  Decision decision = DecisionOf(*model, clock_, 1, {1, 0});
  decision.arms.push_back({.features = {0, 1}});
  const Decision late = DecisionOf(*model, clock_, 2, {1, 0});
  ASSERT_THAT(model->RecordDecision(decision), IsOk());
  ASSERT_THAT(model->RecordDecision(late), IsOk());
  EXPECT_EQ(CodeOf(ReportOne(*model, decision, 0.75, 1)), v1::APPLIED);
  EXPECT_EQ(CodeOf(ReportOne(*model, decision, 0.5)), v1::DUPLICATE);
  WaitApplied(*model);
  EXPECT_EQ(model->Stats().log_sequence(), 3);  // of the report the arm that was shown, no reward
  clock_.Advance(absl::Seconds(60));
  EXPECT_EQ(CodeOf(ReportOne(*model, late, 0.75)), v1::EXPIRED);
  EXPECT_EQ(CodeOf(ReportOne(*model, decision, 0.5)), v1::EXPIRED);
  EXPECT_TRUE(Eventually([&] { return StatisticsOf(*model)[0].events == 2; }));
  EXPECT_THAT(StatisticsOf(*model)[0].moment, ElementsAre(0.25, 0.75));
}

TEST_F(HostedModelTest, NoReportBringsALostDecisionBack) {
  const auto model = Open(WindowSpec());
  const Decision decision = DecisionOf(*model, clock_, 1, {1, 0});  // never recorded
  EXPECT_EQ(CodeOf(ReportOne(*model, decision, 1)), v1::EXPIRED);
  EXPECT_EQ(model->Stats().log_sequence(), 0);
  EXPECT_EQ(model->Stats().decisions_open(), 0);
}

TEST_F(HostedModelTest, OpenWindowsSurviveRestartsWithAndWithoutCheckpoint) {
  for (const bool checkpoint : {false, true}) {
    SCOPED_TRACE(checkpoint);
    const TempDir folder;
    HostedModelOptions options;
    options.tick_max = absl::Milliseconds(2);
    auto model = *HostedModel::Open(WindowSpec(), folder.path(), clock_, options);
    const Decision reported = DecisionOf(*model, clock_, 1, {1, 0});
    const Decision silent = DecisionOf(*model, clock_, 2, {0, 1});
    ASSERT_THAT(model->RecordDecision(silent), IsOk());
    ASSERT_THAT(model->RecordDecision(reported), IsOk());
    EXPECT_EQ(CodeOf(ReportOne(*model, reported, 1)), v1::APPLIED);
    if (checkpoint) {
      ASSERT_THAT(model->Checkpoint(), IsOk());
    }
    model.reset();
    model = *HostedModel::Open(WindowSpec(), folder.path(), clock_, options);
    EXPECT_EQ(CodeOf(ReportOne(*model, reported, 1)), v1::DUPLICATE);
    clock_.Advance(absl::Seconds(61));
    EXPECT_TRUE(Eventually([&] { return StatisticsOf(*model)[0].events == 2; }));
    EXPECT_THAT(StatisticsOf(*model)[0].moment, ElementsAre(1, 0.25));
  }
}

TEST_F(HostedModelTest, ANewEpochClosesOpenWindows) {
  const auto model = Open(WindowSpec());
  const Decision decision = DecisionOf(*model, clock_, 1, {1, 0});
  ASSERT_THAT(model->RecordDecision(decision), IsOk());
  ASSERT_EQ(CodeOf(ReportOne(*model, decision, 1)), v1::APPLIED);
  ASSERT_THAT(model->OpenEpoch(), IsOkAndHolds(2));
  EXPECT_EQ(StatisticsOf(*model)[0].events, 1);
  EXPECT_THAT(StatisticsOf(*model)[0].moment, ElementsAre(1, 0));
  clock_.Advance(absl::Seconds(120));
  EXPECT_EQ(ReasonOf(ReportOne(*model, decision, 1)), v1::TOKEN_FOREIGN);
  EXPECT_EQ(StatisticsOf(*model)[0].events, 1);
}

TEST_F(HostedModelTest, AnotherWindowLengthOpensAnEpochWhileWindowsAreOpen) {
  auto model = Open(WindowSpec());
  ASSERT_THAT(model->RecordDecision(DecisionOf(*model, clock_, 1, {1, 0})), IsOk());
  model.reset();
  ModelSpec longer = WindowSpec();
  longer.public_spec.reward_window->duration = absl::Hours(1);
  model = Open(longer);
  EXPECT_EQ(model->epoch(), 2);
  EXPECT_EQ(StatisticsOf(*model)[0].events, 1);
  model.reset();
  EXPECT_EQ(Open(longer)->epoch(), 2);
}

}  // namespace
}  // namespace bandana::server

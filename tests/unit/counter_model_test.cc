// Hosted models with counters that devices run: admission, posterior, epochs, recovery, ledger.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <future>

#include "common/bandits/statistics.h"
#include "common/design/server_mechanism.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/mechanisms.h"

namespace bandana::testing {
namespace {

ModelSpec CounterSpecOf(const std::string& more = "") {
  return SpecOf(
      "name: 'm' dimension: 2 mode: LOCAL_REWARD shared {} refresh_interval {}"
      " reward_min: -1 reward_max: 3 reporting { one_per_decision: true }"
      " token_lifetime { seconds: 60 }"
      " privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER counter { horizon: 100 steps_max: 200 }"
      " } " +
      more);
}

class CounterModelTest : public HostedModelTest {
 protected:
  // Steps `first` .. `last` of a stream; decision number = 1000 stream + step.
  ReportedCounter Report(const HostedModel& model, int stream, std::uint64_t first,
                         std::uint64_t last, std::vector<double> moment) {
    ReportedCounter report{.step = last, .moment = std::move(moment)};
    report.stream.fill(static_cast<std::byte>(stream));
    for (std::uint64_t step = first; step <= last; ++step) {
      report.decisions.emplace_back(
          DecisionOf(model, clock_, 1000 * stream + step, {0.6, step % 2 == 0 ? 0.8 : -0.8}));
      report.shown.push_back(0);
    }
    return report;
  }
  absl::StatusOr<ReportResult> Send(HostedModel& model, ReportedCounter report) {
    std::promise<absl::StatusOr<std::vector<ReportResult>>> promise;
    model.ReportCounters({std::move(report)}, [&](auto results) { promise.set_value(results); });
    const auto results = promise.get_future().get();
    if (!results.ok()) return results.status();
    return results->front();
  }
  void ExpectResult(const absl::StatusOr<ReportResult>& result, v1::OutcomeCode code,
                    std::uint64_t acknowledged,
                    v1::RejectReason reason = v1::REJECT_REASON_UNSPECIFIED) {
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->code, code);
    EXPECT_EQ(result->reason, reason);
    EXPECT_EQ(result->acknowledged_step, acknowledged);
  }
  std::vector<double> MeanOf(const HostedModel& model) {
    WaitApplied(model);
    return NodeOf(*model.posterior(), 0).mean;
  }
};

// The posterior of section 7, computed beside the server: contexts, mid sum x + release, variance.
std::vector<double> Expected(const ModelSpec& spec, const std::vector<std::vector<double>>& x,
                             const std::vector<double>& moment, double variance) {
  auto model = *BanditModel::Create(spec.bandit, spec.coupling);
  NodeStatistics statistics = EmptyStatistics(2);
  for (const auto& features : x) {
    AddEvent({.features = features, .reward = spec.public_spec.reward_range.middle()}, statistics);
  }
  for (int i = 0; i < 2; ++i) statistics.moment[i] += moment[i];
  statistics.moment_variance = variance;
  EXPECT_THAT(model->SetReleased(0, statistics), IsOk());
  model->Refresh();
  return model->Posterior(0).mean;
}

void ExpectNear(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-12 * (1 + std::abs(b[i])));
}

TEST_F(CounterModelTest, TheNewestReleaseMovesWithItsContexts) {
  const ModelSpec spec = CounterSpecOf();
  const auto model = Open(spec);
  ExpectResult(Send(*model, Report(*model, 1, 1, 2, {5, 1})), v1::APPLIED, 2);
  ExpectResult(Send(*model, Report(*model, 1, 3, 3, {7, 2})), v1::APPLIED, 3);
  const auto design = testing::DesignOf(spec.public_spec);
  const std::vector<std::vector<double>> x = {{0.6, -0.8}, {0.6, 0.8}, {0.6, -0.8}};
  ExpectNear(MeanOf(*model), Expected(spec, x, {7, 2}, design.PredictedVariance(3)));
  EXPECT_EQ(model->Stats().reports_applied(), 3);
}

TEST_F(CounterModelTest, StreamsOfOneNodeAddUp) {
  const ModelSpec spec = CounterSpecOf();
  const auto model = Open(spec);
  ExpectResult(Send(*model, Report(*model, 1, 1, 1, {5, 1})), v1::APPLIED, 1);
  ExpectResult(Send(*model, Report(*model, 2, 1, 2, {3, -4})), v1::APPLIED, 2);
  const auto design = testing::DesignOf(spec.public_spec);
  const std::vector<std::vector<double>> x = {{0.6, -0.8}, {0.6, -0.8}, {0.6, 0.8}};
  ExpectNear(MeanOf(*model),
             Expected(spec, x, {8, -3}, design.PredictedVariance(1) + design.PredictedVariance(2)));
}

TEST_F(CounterModelTest, LostRepeatedAndReorderedReportsDoNoHarm) {
  const ModelSpec spec = CounterSpecOf();
  const auto model = Open(spec);
  const ReportedCounter first = Report(*model, 1, 1, 2, {5, 1});
  const ReportedCounter both = Report(*model, 1, 1, 4, {6, 6});  // the first answer was lost
  ExpectResult(Send(*model, first), v1::APPLIED, 2);
  ExpectResult(Send(*model, first), v1::DUPLICATE, 2);
  ExpectResult(Send(*model, both), v1::APPLIED, 4);
  ExpectResult(Send(*model, first), v1::DUPLICATE, 4);
  ExpectResult(Send(*model, both), v1::DUPLICATE, 4);
  const auto design = testing::DesignOf(spec.public_spec);
  const std::vector<std::vector<double>> x = {{0.6, -0.8}, {0.6, 0.8}, {0.6, -0.8}, {0.6, 0.8}};
  ExpectNear(MeanOf(*model), Expected(spec, x, {6, 6}, design.PredictedVariance(4)));
  EXPECT_EQ(model->Stats().reports_applied(), 4);
}

TEST_F(CounterModelTest, GapsForksAndTheEndOfAStreamAreRefused) {
  const auto model = Open(CounterSpecOf());
  ExpectResult(Send(*model, Report(*model, 1, 1, 3, {1, 1})), v1::APPLIED, 3);
  ExpectResult(Send(*model, Report(*model, 1, 5, 6, {1, 1})), v1::REJECTED, 3, v1::STREAM_GAP);
  ExpectResult(Send(*model, Report(*model, 2, 2, 3, {1, 1})), v1::REJECTED, 0, v1::STREAM_GAP);
  // That step with another release.
  ExpectResult(Send(*model, Report(*model, 1, 1, 3, {1, 2})), v1::REJECTED, 3, v1::STREAM_FORKED);
  // Another decision at a step that is known.
  ReportedCounter forked = Report(*model, 1, 2, 4, {1, 1});
  forked.decisions[1]->id[5] = std::byte{9};
  ExpectResult(Send(*model, forked), v1::REJECTED, 3, v1::STREAM_FORKED);
  ReportedCounter late = Report(*model, 1, 4, 4, {1, 1});
  late.step = 201;
  ExpectResult(Send(*model, late), v1::REJECTED, 3, v1::STREAM_EXHAUSTED);
  ReportedCounter absurd = Report(*model, 1, 4, 4, {1e9, 1});
  ExpectResult(Send(*model, absurd), v1::REJECTED, 3, v1::OUTPUT_OUT_OF_RANGE);
  absurd.moment = {std::nan(""), 0};
  ExpectResult(Send(*model, absurd), v1::REJECTED, 3, v1::OUTPUT_OUT_OF_RANGE);
  ReportedCounter shown = Report(*model, 1, 4, 4, {1, 1});
  shown.shown[0] = 1;
  ExpectResult(Send(*model, shown), v1::REJECTED, 3, v1::SHOWN_OUT_OF_RANGE);
  EXPECT_EQ(model->Stats().reports_applied(), 3);
}

TEST_F(CounterModelTest, TokensThatAreOverDoNotHoldUpTheStream) {
  const ModelSpec spec = CounterSpecOf();
  const auto model = Open(spec);
  ReportedCounter report = Report(*model, 1, 1, 4, {1, 1});
  clock_.Advance(absl::Seconds(59));
  report.decisions[3] = Report(*model, 1, 4, 4, {}).decisions[0];
  report.decisions[1].reset();  // does not open
  clock_.Advance(absl::Seconds(1));
  ExpectResult(Send(*model, report), v1::APPLIED, 4);
  const auto design = testing::DesignOf(spec.public_spec);
  ExpectNear(MeanOf(*model), Expected(spec, {{0.6, 0.8}}, {1, 1}, design.PredictedVariance(4)));
  EXPECT_EQ(model->Stats().reports_applied(), 1);
  EXPECT_EQ(model->Stats().reports_rejected().at("expired"), 2);
  EXPECT_EQ(model->Stats().reports_rejected().at("token_invalid"), 1);
}

TEST_F(CounterModelTest, ADecisionCountsOnceWhateverTheStream) {
  const auto model = Open(CounterSpecOf());
  ExpectResult(Send(*model, Report(*model, 1, 1, 1, {1, 1})), v1::APPLIED, 1);
  ReportedCounter again = Report(*model, 2, 1, 1, {1, 1});
  again.decisions[0] = Report(*model, 1, 1, 1, {}).decisions[0];
  ExpectResult(Send(*model, again), v1::APPLIED, 1);
  EXPECT_EQ(model->Stats().reports_applied(), 1);
  EXPECT_EQ(model->Stats().reports_duplicate(), 1);
}

TEST_F(CounterModelTest, AnEpochEndsTheStreamsAndKeepsWhatTheyReleased) {
  const ModelSpec spec = CounterSpecOf();
  const auto model = Open(spec);
  const ReportedCounter old = Report(*model, 1, 1, 1, {5, 1});
  ExpectResult(Send(*model, old), v1::APPLIED, 1);
  ASSERT_THAT(model->OpenEpoch(), IsOk());
  ExpectResult(Send(*model, old), v1::REJECTED, 0, v1::TOKEN_FOREIGN);
  ExpectResult(Send(*model, Report(*model, 3, 1, 2, {1, 1})), v1::APPLIED, 2);
  const auto design = testing::DesignOf(spec.public_spec);
  const std::vector<std::vector<double>> x = {{0.6, -0.8}, {0.6, -0.8}, {0.6, 0.8}};
  const auto expected =
      Expected(spec, x, {6, 2}, design.PredictedVariance(1) + design.PredictedVariance(2));
  ExpectNear(MeanOf(*model), expected);

  const v1::GetLedgerResponse ledger = model->Ledger();
  ASSERT_EQ(ledger.entries_size(), 2);  // one a stream, newest first
  EXPECT_EQ(ledger.entries(0).epoch(), 2);
  EXPECT_EQ(ledger.entries(1).epoch(), 1);
  EXPECT_EQ(ledger.entries(1).log_sequence(), 1);  // before the report it pays for
  EXPECT_EQ(ledger.entries(0).principal(), "node 0");
  EXPECT_EQ(ledger.entries(0).rho(), design.cost().value);
  EXPECT_FALSE(ledger.user().has_epsilon_pure());
  EXPECT_FALSE(ledger.user().has_epsilon_gaussian());
  EXPECT_GT(ledger.user().epsilon_zcdp(), 2);
  EXPECT_LT(ledger.user().epsilon_zcdp(), 4);  // rho adds, epsilon grows by less
  EXPECT_EQ(ledger.epsilon_spent_event(), 2);
}

TEST_F(CounterModelTest, RecoveryGivesTheSameStateWithAndWithoutACheckpoint) {
  const ModelSpec spec = CounterSpecOf();
  std::vector<double> before;
  {
    const auto model = Open(spec);
    ExpectResult(Send(*model, Report(*model, 1, 1, 3, {5, 1})), v1::APPLIED, 3);
    before = MeanOf(*model);
  }
  for (const bool checkpoint : {false, true}) {
    const auto model = Open(spec);
    ExpectNear(MeanOf(*model), before);
    ExpectResult(Send(*model, Report(*model, 1, 1, 3, {5, 1})), v1::DUPLICATE, 3);
    ExpectResult(Send(*model, Report(*model, 1, 5, 5, {5, 1})), v1::REJECTED, 3, v1::STREAM_GAP);
    EXPECT_EQ(model->Ledger().entries_size(), 1);
    if (!checkpoint) {
      ASSERT_THAT(model->Checkpoint(), IsOk());
    }
  }
}

std::vector<std::vector<double>> ContextsThrough(std::uint64_t step) {
  std::vector<std::vector<double>> x;
  while (x.size() < step) x.push_back({0.6, x.size() % 2 == 1 ? 0.8 : -0.8});
  return x;
}

// Epochs end at 32, 34, 36, ..
TEST_F(CounterModelTest, ContextsWaitForTheEpochsReleaseThatCoversThem) {
  ModelSpec spec = CounterSpecOf();
  spec.public_spec.counter->kind = CounterKind::kEpochs;
  ASSERT_THAT(MakeMechanisms(spec), IsOk());
  const auto design = testing::DesignOf(spec.public_spec);
  const auto expected = [&](std::uint64_t step, std::vector<double> moment) {
    return Expected(spec, ContextsThrough(step), std::move(moment), design.PredictedVariance(step));
  };
  {
    const auto model = Open(spec);
    // Nothing is released yet, so there is nothing that a moment could hold.
    ExpectResult(Send(*model, Report(*model, 1, 1, 20, {1, 0})), v1::REJECTED, 0,
                 v1::OUTPUT_OUT_OF_RANGE);
    ExpectResult(Send(*model, Report(*model, 1, 1, 20, {0, 0})), v1::APPLIED, 20);
    EXPECT_EQ(MeanOf(*model), std::vector<double>(2));
    // Over an end: 21 .. 32 are covered, 33 waits.
    ExpectResult(Send(*model, Report(*model, 1, 21, 33, {5, 1})), v1::APPLIED, 33);
    ExpectNear(MeanOf(*model), expected(32, {5, 1}));
    EXPECT_EQ(StatisticsOf(*model)[0].events, 33);
    EXPECT_EQ(model->Stats().reports_applied(), 33);
  }
  for (const bool checkpoint : {false, true}) {
    const auto model = Open(spec);
    ExpectNear(MeanOf(*model), expected(32, {5, 1}));
    if (!checkpoint) {
      ASSERT_THAT(model->Checkpoint(), IsOk());
    }
  }
  const auto model = Open(spec);
  ExpectResult(Send(*model, Report(*model, 1, 34, 34, {7, 2})), v1::APPLIED, 34);
  ExpectNear(MeanOf(*model), expected(34, {7, 2}));
  // Between ends a release does not move.
  ExpectResult(Send(*model, Report(*model, 1, 35, 35, {7, 3})), v1::REJECTED, 34,
               v1::STREAM_FORKED);
  ExpectResult(Send(*model, Report(*model, 1, 35, 35, {7, 2})), v1::APPLIED, 35);
  ExpectNear(MeanOf(*model), expected(34, {7, 2}));
  // Each stream waits for its own end; a new epoch of the model ends both.
  ExpectResult(Send(*model, Report(*model, 2, 1, 32, {1, 1})), v1::APPLIED, 32);
  ASSERT_THAT(model->OpenEpoch(), IsOk());
  WaitApplied(*model);
  EXPECT_NEAR(StatisticsOf(*model)[0].moment[0], (34 + 32) * 0.6, 1e-9);
  EXPECT_EQ(StatisticsOf(*model)[0].events, 35 + 32);
}

TEST_F(CounterModelTest, TheUsersLimitCountsSteps) {
  ModelSpec spec = CounterSpecOf();
  spec.public_spec.events_per_user_max = 3;
  spec.coupling = Coupling::Independent();
  spec.config.mutable_independent();
  spec.bandit.nodes_max = 2;
  const auto model = Open(spec);
  const auto report = [&](int stream, std::uint64_t first, std::uint64_t last,
                          const std::string& user) {
    ReportedCounter out = Report(*model, stream, first, last, {1, 1});
    for (auto& decision : out.decisions) decision->user = user;
    return out;
  };
  ExpectResult(Send(*model, report(1, 1, 4, "ann")), v1::REJECTED, 0, v1::USER_LIMIT);
  ExpectResult(Send(*model, report(1, 1, 2, "ann")), v1::APPLIED, 2);
  ExpectResult(Send(*model, report(2, 1, 1, "ann")), v1::APPLIED, 1);
  ExpectResult(Send(*model, report(1, 3, 3, "ann")), v1::REJECTED, 2, v1::USER_LIMIT);
  ExpectResult(Send(*model, report(3, 1, 1, "bob")), v1::APPLIED, 1);
  ExpectResult(Send(*model, report(4, 1, 1, "cid")), v1::REJECTED, 0, v1::USER_LIMIT);
  ExpectResult(Send(*model, report(3, 2, 2, "ann")), v1::REJECTED, 1, v1::TOKEN_INVALID);
  WaitApplied(*model);
  EXPECT_EQ(model->Stats().nodes(), 2);
}

TEST_F(CounterModelTest, ThePosteriorFollowsAtTheRefreshInterval) {
  ModelSpec spec = CounterSpecOf();
  spec.refresh_interval = absl::Minutes(1);
  const auto model = Open(spec);
  ExpectResult(Send(*model, Report(*model, 1, 1, 1, {5, 1})), v1::APPLIED, 1);
  ASSERT_TRUE(Eventually([&] { return NodeOf(*model->posterior(), 0).mean[0] != 0; }));
  const std::vector<double> first = MeanOf(*model);
  ExpectResult(Send(*model, Report(*model, 1, 2, 2, {9, 3})), v1::APPLIED, 2);
  EXPECT_EQ(MeanOf(*model), first);
  clock_.Advance(absl::Minutes(1));
  EXPECT_TRUE(Eventually([&] { return NodeOf(*model->posterior(), 0).mean != first; }));
}

}  // namespace
}  // namespace bandana::testing

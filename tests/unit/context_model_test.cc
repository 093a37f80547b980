// Hosted models whose contexts are private: admission, posterior, epochs, recovery, export, ledger.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <future>

#include "common/bandits/noisy_gram.h"
#include "common/bandits/statistics.h"
#include "common/mechanisms/privunit.h"
#include "server/models/folder/export.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/mechanisms.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

ModelSpec ContextSpecOf(const std::string& more = "privacy { epsilon: 8 mechanism: PRIVUNIT }") {
  return SpecOf(
      "name: 'm' dimension: 2 mode: LOCAL_CONTEXT shared {} refresh_interval {}"
      " reward_min: -1 reward_max: 1 reward_stddev: 0.1 prior_stddev: 0.7071067811865476"
      " exploration { alpha: 0 } reporting { one_per_decision: true }"
      " token_lifetime { seconds: 60 } " +
      more);
}
const char kGaussian[] = "privacy { epsilon: 2 delta: 1e-6 mechanism: JOINT_GAUSSIAN }";

std::array<std::byte, 16> IdOf(std::uint64_t number) {
  std::array<std::byte, 16> id{};
  std::memcpy(id.data(), &number, sizeof number);
  return id;
}

MATCHER(Near, "") { return std::abs(std::get<0>(arg) - std::get<1>(arg)) <= 1e-9; }

class ContextModelTest : public HostedModelTest {
 protected:
  // As a device draws it.
  ReportedContext Draw(const ModelSpec& spec, std::uint64_t number, double x0, double x1,
                       double reward, std::uint64_t epoch = 1) {
    const ContextReports& contexts = *spec.public_spec.made->contexts();
    ReportedContext report{.id = IdOf(number), .epoch = epoch};
    const ClippedStatistics phi = contexts.statistic().Clip(RawInteraction({x0, x1}, reward));
    const absl::StatusOr<PerturbedContext> drawn = contexts.Draw(phi, bits_);
    if (const auto* const direction = std::get_if<PerturbedDirection>(&*drawn)) {
      report.seed.assign(reinterpret_cast<const char*>(direction->seed().data()), 16);
    } else {
      const auto values = std::get<PerturbedStatistics>(*drawn).grid();
      report.values.assign(values.begin(), values.end());
    }
    Add(contexts, *contexts.Decode({report.seed, report.values}));
    return report;
  }
  void Add(const ContextReports& contexts, const JointEstimate& estimate) {
    const ReportVariance one = contexts.variance();
    for (std::size_t i = 0; i < 3; ++i) expected_.gram[i] += estimate.gram[i];
    for (std::size_t i = 0; i < 2; ++i) expected_.moment[i] += estimate.moment[i];
    ++expected_.events;
    expected_.gram_variance += one.gram;
    expected_.moment_variance += one.moment;
  }
  // The posterior of section 7, computed beside the server.
  std::vector<double> Expected(const ModelSpec& spec) const {
    auto model = *BanditModel::Create(spec.bandit, spec.coupling);
    auto repaired = RepairStatistics(expected_, spec.theta_l2_max);
    EXPECT_THAT(repaired, IsOk());
    EXPECT_THAT(model->SetReleased(0, repaired->statistics), IsOk());
    model->Refresh();
    return model->Posterior(0).mean;
  }
  absl::StatusOr<std::vector<ReportResult>> Send(HostedModel& model,
                                                 std::vector<ReportedContext> reports) {
    std::promise<absl::StatusOr<std::vector<ReportResult>>> promise;
    model.ReportContexts(std::move(reports), [&](auto results) { promise.set_value(results); });
    return promise.get_future().get();
  }
  void ExpectResult(HostedModel& model, const ReportedContext& report, v1::OutcomeCode code,
                    v1::RejectReason reason = v1::REJECT_REASON_UNSPECIFIED) {
    const auto results = Send(model, {report});
    ASSERT_THAT(results, IsOk());
    EXPECT_EQ(results->front().code, code);
    EXPECT_EQ(results->front().reason, reason);
  }
  std::vector<double> MeanOf(const HostedModel& model) {
    WaitApplied(model);
    return NodeOf(*model.posterior(), 0).mean;
  }
  // Events about theta = (0.8, -0.4): enough to see it.
  void Fill(HostedModel& model, const ModelSpec& spec, int count, std::uint64_t first = 1) {
    std::vector<ReportedContext> reports;
    for (int i = 0; i < count; ++i) {
      const double angle = 0.7 * i;
      const double x0 = std::cos(angle), x1 = std::sin(angle);
      reports.push_back(Draw(spec, first + i, x0, x1, 0.8 * x0 - 0.4 * x1, model.epoch()));
    }
    ASSERT_THAT(Send(model, std::move(reports)), IsOk());
  }

  SeededBits bits_{7};
  NoisyStatistics expected_{.gram = std::vector<double>(3), .moment = std::vector<double>(2)};
};

TEST_F(ContextModelTest, ThePosteriorIsThatOfTheNoisySumsOfSeeds) {
  const ModelSpec spec = ContextSpecOf();
  auto model = Open(spec);
  Fill(*model, spec, 600);
  EXPECT_THAT(MeanOf(*model), Pointwise(Near(), Expected(spec)));
  EXPECT_EQ(model->Stats().reports_applied(), 600);
  EXPECT_EQ(StatisticsOf(*model)[0].events, 600);
}

TEST_F(ContextModelTest, ThePosteriorIsThatOfTheNoisySumsOfIntegers) {
  const ModelSpec spec = ContextSpecOf(kGaussian);
  auto model = Open(spec);
  Fill(*model, spec, 600);
  EXPECT_THAT(MeanOf(*model), Pointwise(Near(), Expected(spec)));
}

TEST_F(ContextModelTest, LearnsWhatTheDevicesSaw) {
  const ModelSpec spec = ContextSpecOf();
  auto model = Open(spec);
  Fill(*model, spec, 4000);
  const std::vector<double> mean = MeanOf(*model);
  // sd of an entry: sqrt(v / n) 2 with v about 1 at epsilon 8, n = 4000: 0.03.
  EXPECT_NEAR(mean[0], 0.8, 0.15);
  EXPECT_NEAR(mean[1], -0.4, 0.15);
}

TEST_F(ContextModelTest, AReportCountsOnceWheneverItComesAgain) {
  const ModelSpec spec = ContextSpecOf();
  auto model = Open(spec);
  const ReportedContext report = Draw(spec, 1, 1, 0, 1);
  ExpectResult(*model, report, v1::APPLIED);
  ExpectResult(*model, report, v1::DUPLICATE);
  clock_.Advance(absl::Seconds(45));  // another bucket of ids
  ExpectResult(*model, report, v1::DUPLICATE);
  model.reset();
  model = Open(spec);
  ExpectResult(*model, report, v1::DUPLICATE);
  EXPECT_EQ(model->Stats().reports_applied(), 1);
  EXPECT_EQ(model->Stats().reports_duplicate(), 3);
  EXPECT_THAT(MeanOf(*model), Pointwise(Near(), Expected(spec)));
}

TEST_F(ContextModelTest, AnIdIsForgottenAfterItsLifetime) {
  const ModelSpec spec = ContextSpecOf();
  auto model = Open(spec);
  ExpectResult(*model, Draw(spec, 1, 1, 0, 1), v1::APPLIED);
  EXPECT_EQ(model->Stats().decisions_open(), 1);
  clock_.Advance(absl::Seconds(75));
  ASSERT_TRUE(Eventually([&] { return model->Stats().decisions_open() == 0; }));
  // Then it is new again: devices give up before (token_lifetime after a report is due).
  expected_ = {.gram = std::vector<double>(3), .moment = std::vector<double>(2)};
  ExpectResult(*model, Draw(spec, 1, 1, 0, 1), v1::APPLIED);
  EXPECT_EQ(model->Stats().reports_applied(), 2);
}

TEST_F(ContextModelTest, ReportsOfAnotherEpochAndImpossibleIntegersAreRefused) {
  const ModelSpec spec = ContextSpecOf(kGaussian);
  auto model = Open(spec);
  ExpectResult(*model, Draw(spec, 1, 1, 0, 1, 2), v1::REJECTED, v1::TOKEN_FOREIGN);
  ReportedContext report = Draw(spec, 2, 1, 0, 1);
  report.values[3] = std::int64_t{1} << 50;
  ExpectResult(*model, report, v1::REJECTED, v1::OUTPUT_OUT_OF_RANGE);
  EXPECT_THAT(model->OpenEpoch(), IsOk());
  ExpectResult(*model, Draw(spec, 3, 1, 0, 1, 1), v1::REJECTED, v1::TOKEN_FOREIGN);
  ExpectResult(*model, Draw(spec, 4, 1, 0, 1, 2), v1::APPLIED);
  EXPECT_EQ(StatisticsOf(*model)[0].events, 1);
}

TEST_F(ContextModelTest, ARestartReadsTheSameSums) {
  const ModelSpec spec = ContextSpecOf();
  auto model = Open(spec);
  Fill(*model, spec, 100);
  WaitApplied(*model);
  const NodeStatistics before = StatisticsOf(*model)[0];  // also writes a checkpoint
  Fill(*model, spec, 100, 1000);
  const std::vector<double> mean = MeanOf(*model);
  model.reset();
  model = Open(spec);
  EXPECT_THAT(MeanOf(*model), Pointwise(Near(), mean));
  EXPECT_THAT(mean, Pointwise(Near(), Expected(spec)));
  const NodeStatistics after = StatisticsOf(*model)[0];
  EXPECT_EQ(before.events, 100);
  EXPECT_EQ(after.events, 200);
  EXPECT_EQ(after.gram, expected_.gram);
  EXPECT_EQ(after.moment, expected_.moment);
}

TEST_F(ContextModelTest, GramsThatAreNotSemidefiniteAreRepairedAndCounted) {
  const ModelSpec spec = ContextSpecOf(
      "privacy { epsilon: 0.1 delta: 1e-6 mechanism: JOINT_GAUSSIAN }");  // noise of 60 an entry
  auto model = Open(spec);
  for (int i = 1; i <= 20; ++i) {
    ExpectResult(*model, Draw(spec, i, 1, 0, 1), v1::APPLIED);
    WaitApplied(*model);
  }
  EXPECT_GE(model->Stats().grams_repaired(), 1);
  for (const double value : NodeOf(*model->posterior(), 0).mean) EXPECT_TRUE(std::isfinite(value));
  EXPECT_THAT(MeanOf(*model), Pointwise(Near(), Expected(spec)));
}

TEST_F(ContextModelTest, TheExportedCopyIsInAnotherEpoch) {
  const ModelSpec spec = ContextSpecOf();
  auto model = Open(spec);
  Fill(*model, spec, 50);
  const auto bytes = model->Export();
  ASSERT_THAT(bytes, IsOk());
  const auto exported = server::DecodeExport(*bytes);
  ASSERT_THAT(exported, IsOk());
  EXPECT_EQ(exported->checkpoint.state.epoch, model->epoch() + 1);
  EXPECT_EQ(exported->checkpoint.statistics[0].events, 50);
  EXPECT_EQ(exported->checkpoint.statistics[0].moment, StatisticsOf(*model)[0].moment);
}

TEST_F(ContextModelTest, StateOfAnotherNoiseIsRefused) {
  Open(ContextSpecOf());
  for (const char* more : {"privacy { epsilon: 7 mechanism: PRIVUNIT }",
                           "privacy { epsilon: 8 mechanism: PRIVUNIT } feature_l2_max: 2"}) {
    EXPECT_THAT(TryOpen(ContextSpecOf(more)), StatusIs(Code::kInvalidArgument)) << more;
  }
  EXPECT_THAT(TryOpen(ContextSpecOf("privacy { epsilon: 8 mechanism: PRIVUNIT } arms_max: 7")),
              IsOk());
}

TEST_F(ContextModelTest, TheLedgerReadsOneEventAndNeverLessThanAllForAUser) {
  const ModelSpec spec = ContextSpecOf();
  auto model = Open(spec);
  Fill(*model, spec, 10);
  WaitApplied(*model);
  const v1::GetLedgerResponse ledger = model->Ledger();
  EXPECT_EQ(ledger.mechanism(), v1::PRIVUNIT);
  EXPECT_EQ(ledger.guarantee(), "proven");
  EXPECT_EQ(ledger.epsilon_spent_event(), 8);
  EXPECT_EQ(ledger.events(), 10);
  EXPECT_EQ(ledger.epsilon_spent_user(), 80);
  EXPECT_EQ(ledger.entries_size(), 0);
}

TEST_F(ContextModelTest, ArmsStayOnTheDevices) {
  auto model = Open(ContextSpecOf());
  v1::PutArmsResponse response;
  const std::vector<server::CatalogueArm> arms = {{.id = 1, .features = {1, 0}}};
  EXPECT_THAT(model->PutArms(arms, &response),
              StatusIs(Code::kFailedPrecondition, "LOCAL_CONTEXT"));
}

}  // namespace
}  // namespace bandana::testing

// Hosted models that forget: when entries of fading are written, what they do to the statistics of
// every kind of model that may, and that no restart changes a bit of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/bandits/fading.h"
#include "common/bandits/noisy_gram.h"
#include "common/model/core.h"
#include "common/model/entries/records.h"
#include "common/model/state/fading.h"
#include "common/promise/context_reports.h"
#include "server/models/folder/checkpoint.h"
#include "server/models/folder/export.h"
#include "server/models/folder/noise_key_file.h"
#include "server/models/folder/recovery.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/mechanisms.h"
#include "tests/support/seeded_bits.h"

namespace bandana::testing {
namespace {

using ::testing::ElementsAre;

// A step is an hour.
constexpr char kForgets[] = " half_life { seconds: 115200 } ";
constexpr absl::Duration kStep = absl::Hours(1);
constexpr absl::Duration kHalfLife = absl::Hours(32);

TEST(Fading, CountsStepsOnAGridOfAbsoluteTime) {
  const absl::Time midnight = absl::FromUnixSeconds(86400 * 20'000);
  Fading fading;
  EXPECT_FALSE(fading.begun());
  EXPECT_EQ(fading.NextEntry(absl::ZeroDuration()), absl::InfiniteFuture());
  EXPECT_EQ(fading.NextEntry(kHalfLife), absl::InfinitePast());
  // The first entry only begins.
  fading.Apply(midnight + absl::Minutes(59), kHalfLife);
  EXPECT_TRUE(fading.begun());
  EXPECT_EQ(fading.steps(), 0u);
  EXPECT_EQ(fading.NextEntry(kHalfLife), midnight + kStep);
  // One entry makes all the steps since the last.
  fading.Apply(midnight + absl::Hours(5), kHalfLife);
  EXPECT_EQ(fading.steps(), 5u);
  EXPECT_EQ(fading.NextEntry(kHalfLife), midnight + absl::Hours(6));
  // A second one at the time, or before it, makes none.
  fading.Apply(midnight + absl::Hours(5), kHalfLife);
  fading.Apply(midnight, kHalfLife);
  EXPECT_EQ(fading.steps(), 5u);
  EXPECT_EQ(fading.time(), midnight + absl::Hours(5));
}

TEST(Fading, AChangeOfTheHalfLifeCountsFromThenOn) {
  const absl::Time midnight = absl::FromUnixSeconds(86400 * 20'000);
  Fading fading;
  fading.Apply(midnight, kHalfLife);
  EXPECT_EQ(fading.NextEntry(2 * kHalfLife), absl::InfinitePast());
  fading.Apply(midnight + absl::Hours(3), 2 * kHalfLife);
  EXPECT_EQ(fading.steps(), 3u) << "of the half-life before";
  fading.Apply(midnight + absl::Hours(6), absl::ZeroDuration());
  EXPECT_EQ(fading.steps(), 5u) << "from 3 to 6 o'clock 4 and 6 are on the grid of two hours";
  // While it is off nothing fades, and nothing is made up for.
  EXPECT_EQ(fading.NextEntry(absl::ZeroDuration()), absl::InfiniteFuture());
  fading.Apply(midnight + absl::Hours(600), kHalfLife);
  EXPECT_EQ(fading.steps(), 5u);
}

class ForgettingTest : public HostedModelTest {
 protected:
  ForgettingTest() {
    options_.stepped = true;
    clock_.Set(absl::FromUnixSeconds(86400 * 20'000));
  }

  ReportResult Report(HostedModel& model, std::vector<double> x, double reward,
                      const std::string& user = "") {
    const Decision decision = DecisionOf(model, clock_, ++number_, std::move(x), user);
    if (!model.RecordDecision(decision).ok()) ADD_FAILURE() << "no decision";
    ReportedOutcome outcome{.decision = decision};
    if (model.spec().public_spec.mode == Mode::kLocalReward) {
      outcome.output = static_cast<std::uint32_t>(reward);
    } else {
      outcome.reward = reward;
    }
    ReportResult result;
    model.Report({outcome}, [&](auto results) {
      ASSERT_THAT(results, IsOk());
      result = results->front();
    });
    model.Step();
    return result;
  }
  static void ExpectSame(const std::vector<NodeStatistics>& a,
                         const std::vector<NodeStatistics>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t u = 0; u < a.size(); ++u) {
      EXPECT_EQ(a[u].gram, b[u].gram);
      EXPECT_EQ(a[u].moment, b[u].moment);
      EXPECT_EQ(a[u].steps, b[u].steps);
      EXPECT_EQ(a[u].events, b[u].events);
    }
  }
  static std::uint64_t LogOf(const HostedModel& model) { return model.Stats().log_sequence(); }

  std::uint64_t number_ = 0;
};

TEST_F(ForgettingTest, WritesOneEntryPerStepThoughNothingElseHappens) {
  const auto model = Open(SharedSpec(kForgets));
  EXPECT_EQ(LogOf(*model), 1u) << "it begins";
  model->Step();
  EXPECT_EQ(LogOf(*model), 1u);
  clock_.Advance(kStep - absl::Seconds(1));
  model->Step();
  EXPECT_EQ(LogOf(*model), 1u);
  clock_.Advance(absl::Seconds(1));
  model->Step();
  model->Step();
  EXPECT_EQ(LogOf(*model), 2u);
  clock_.Advance(10 * kStep);
  model->Step();
  model->Step();
  EXPECT_EQ(LogOf(*model), 3u) << "one entry for ten steps";
}

TEST_F(ForgettingTest, AModelWithoutHalfLifeWritesNone) {
  const auto model = Open(SharedSpec());
  clock_.Advance(1000 * kStep);
  model->Step();
  EXPECT_EQ(LogOf(*model), 0u);
}

TEST_F(ForgettingTest, WritesTheSameEntriesWithEventsAndWithout) {
  TempDir other;
  const auto quiet = Open(SharedSpec(kForgets));
  const auto busy = *HostedModel::Open(SharedSpec(kForgets), other.path(), clock_, options_);
  std::uint64_t events = 0;
  for (int i = 0; i < 7; ++i) {
    clock_.Advance(absl::Minutes(50));
    for (int e = 0; e < i; ++e, ++events) Report(*busy, {1, 0}, 1);
    quiet->Step();
    busy->Step();
    EXPECT_EQ(LogOf(*busy), LogOf(*quiet) + events) << i;
  }
}

TEST_F(ForgettingTest, AnEventCountsHalfAfterAHalfLife) {
  const auto model = Open(SharedSpec(kForgets));
  Report(*model, {1, 0}, 1);
  clock_.Advance(kHalfLife);
  model->Step();
  Report(*model, {0, 1}, 1);
  const NodeStatistics sums = StatisticsOf(*model)[0];
  EXPECT_THAT(sums.gram, ElementsAre(0.5, 0, 1));
  EXPECT_THAT(sums.moment, ElementsAre(0.5, 1));
  EXPECT_EQ(sums.events, 2u) << "events are counted for ever";
  // Ridge regression with the prior as it was: 0.5 / (0.5 + 1) and 1 / (1 + 1).
  EXPECT_THAT(
      NodeOf(*model->posterior(), 0).mean,
      ElementsAre(::testing::DoubleNear(1.0 / 3, 1e-12), ::testing::DoubleNear(0.5, 1e-12)));
}

TEST_F(ForgettingTest, WhatIsPublishedFadesThoughNothingElseHappens) {
  for (const std::string coupling : {"shared {}", "independent {}"}) {
    SCOPED_TRACE(coupling);
    TempDir folder;
    const auto model = *HostedModel::Open(
        SpecOf(absl::StrCat("name: 'm' dimension: 2 mode: NON_PRIVATE ", coupling, kForgets)),
        folder.path(), clock_, options_);
    Report(*model, {1, 0}, 1, "ann");
    EXPECT_NEAR(NodeOf(*model->posterior(), 0).mean[0], 0.5, 1e-12);
    clock_.Advance(kHalfLife);
    model->Step();
    EXPECT_NEAR(NodeOf(*model->posterior(), 0).mean[0], 1.0 / 3, 1e-12);
    clock_.Advance(64 * kHalfLife);
    model->Step();
    EXPECT_EQ(NodeOf(*model->posterior(), 0).mean[0], 0);
  }
}

// Wherever the server stops, and whether it has a checkpoint then.
TEST_F(ForgettingTest, ARestartChangesNoBit) {
  const std::vector<std::string> kinds = {
      "mode: NON_PRIVATE shared {}", "mode: NON_PRIVATE independent {}",
      "mode: LOCAL_REWARD shared {} privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }"
      " reporting { one_per_decision: true }",
      "mode: CENTRAL_REWARD independent {} privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }"
      " reporting { one_per_decision: true }"};
  for (const std::string& kind : kinds) {
    SCOPED_TRACE(kind);
    const ModelSpec spec = SpecOf(
        absl::StrCat("name: 'm' dimension: 5 ", kind, kForgets, " token_lifetime { seconds: 60 }"));
    TempDir steady_data, restarted_data;
    SeededBits bits(5);
    server::HostedModelOptions options = options_;
    options.noise_key = *server::OpenNoiseKey(steady_data.path(), bits);
    clock_.Set(absl::FromUnixSeconds(86400 * 20'000));
    // Both are one instance: noise of central models is a function of it.
    HostedModel::Open(spec, steady_data.path() + "/m", clock_, options).value().reset();
    std::filesystem::copy(steady_data.path() + "/m", restarted_data.path() + "/m",
                          std::filesystem::copy_options::recursive);
    const auto steady = *HostedModel::Open(spec, steady_data.path() + "/m", clock_, options);
    auto restarted = *HostedModel::Open(spec, restarted_data.path() + "/m", clock_, options);
    for (int i = 0; i < 25; ++i) {
      clock_.Advance(absl::Minutes(17 * (i % 5)));
      const std::vector<double> x = {std::cos(i), std::sin(i), 0.1 * (i % 3), 0, 0.2};
      const double reward = i % 3 == 0 ? 1 : 0;
      const std::string user = i % 4 == 0 ? "1" : "2";
      const std::uint64_t number = number_;
      for (HostedModel* const model : {steady.get(), restarted.get()}) {
        model->Step();
        number_ = number;
        EXPECT_EQ(Report(*model, x, reward, spec.coupling.independent() ? user : "").code,
                  v1::APPLIED);
      }
      if (i % 7 != 3) continue;
      if (i % 2 == 0) {
        EXPECT_THAT(restarted->Checkpoint(), IsOk());
      }
      const std::vector<NodeStatistics> before = StatisticsOf(*restarted);
      restarted.reset();
      restarted = *HostedModel::Open(spec, restarted_data.path() + "/m", clock_, options);
      ExpectSame(StatisticsOf(*restarted), before);
    }
    // Entries of central models have random bytes, on which their noise depends.
    if (spec.public_spec.mode == Mode::kCentralReward) continue;
    ExpectSame(StatisticsOf(*restarted), StatisticsOf(*steady));
    for (int u = 0; u < steady->posterior()->nodes(); ++u) {
      const NodePosterior one = NodeOf(*steady->posterior(), u);
      const NodePosterior two = NodeOf(*restarted->posterior(), u);
      for (std::size_t i = 0; i < one.mean.size(); ++i) EXPECT_NEAR(one.mean[i], two.mean[i], 1e-9);
    }
  }
}

TEST_F(ForgettingTest, TimeWhileTheServerIsDownCounts) {
  auto model = Open(SharedSpec(kForgets));
  Report(*model, {1, 0}, 1);
  model.reset();
  clock_.Advance(2 * kHalfLife);
  model = Open(SharedSpec(kForgets));
  Report(*model, {0, 1}, 1);
  EXPECT_THAT(StatisticsOf(*model)[0].moment, ElementsAre(0.25, 1));
}

TEST_F(ForgettingTest, AHalfLifeMayComeAndGoAndCountsFromThenOn) {
  auto model = Open(SharedSpec());
  Report(*model, {1, 0}, 1);
  model.reset();
  clock_.Advance(5 * kHalfLife);
  model = Open(SharedSpec(kForgets));  // from here on
  clock_.Advance(kHalfLife);
  model->Step();
  model.reset();
  model = Open(SharedSpec());  // until here
  clock_.Advance(7 * kHalfLife);
  model->Step();
  Report(*model, {1, 0}, 1);
  EXPECT_THAT(StatisticsOf(*model)[0].moment, ElementsAre(1.5, 0));
  const std::uint64_t entries = LogOf(*model);
  model.reset();
  model = Open(SharedSpec());
  EXPECT_EQ(LogOf(*model), entries) << "what is off stays off";
}

TEST_F(ForgettingTest, AClockThatIsSetBackMakesNoStep) {
  const auto model = Open(SharedSpec(kForgets));
  Report(*model, {1, 0}, 1);
  clock_.Advance(kHalfLife);
  model->Step();
  clock_.Jump(-10 * kHalfLife);
  model->Step();
  clock_.Jump(10 * kHalfLife);
  model->Step();
  Report(*model, {0, 1}, 1);
  EXPECT_THAT(StatisticsOf(*model)[0].moment, ElementsAre(0.5, 1));
}

TEST_F(ForgettingTest, LimitsAndEpochsCountWholeEvents) {
  const auto model =
      Open(SpecOf(absl::StrCat("name: 'm' dimension: 2 mode: LOCAL_REWARD independent {}"
                               " privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER"
                               " events_per_user_max: 2 } reporting { one_per_decision: true }",
                               kForgets)));
  EXPECT_EQ(Report(*model, {1, 0}, 1, "ann").code, v1::APPLIED);
  EXPECT_EQ(Report(*model, {1, 0}, 1, "ann").code, v1::APPLIED);
  clock_.Advance(100 * kHalfLife);
  model->Step();
  EXPECT_EQ(Report(*model, {1, 0}, 1, "ann").reason, v1::USER_LIMIT);
}

// The noise of sums of reports is that of the weights squared.
TEST_F(ForgettingTest, NoisyContextsFadeWithTheirNoise) {
  const ModelSpec spec =
      SpecOf(absl::StrCat("name: 'm' dimension: 2 mode: LOCAL_CONTEXT shared {} refresh_interval {}"
                          " reward_min: -1 reward_max: 1 exploration { alpha: 0 }"
                          " reporting { one_per_decision: true }"
                          " privacy { epsilon: 8 mechanism: PRIVUNIT }",
                          kForgets));
  auto model = Open(spec);
  const ContextReports& contexts = *spec.public_spec.made->contexts();
  SeededBits bits(7);
  NoisyStatistics expected{.gram = std::vector<double>(3), .moment = std::vector<double>(2)};
  const auto fade = [&expected](double weight) {
    for (double& v : expected.gram) v *= weight;
    for (double& v : expected.moment) v *= weight;
    expected.gram_variance *= weight * weight;
    expected.moment_variance *= weight * weight;
  };
  for (int i = 0; i < 40; ++i) {
    ReportedContext report{.epoch = 1};
    const int id = i + 1;
    std::memcpy(report.id.data(), &id, sizeof id);
    const ClippedStatistics phi = contexts.statistic().Clip(
        RawInteraction({std::cos(0.7 * i), std::sin(0.7 * i)}, 0.8 * std::cos(0.7 * i)));
    const absl::StatusOr<PerturbedContext> drawn = contexts.Draw(phi, bits);
    const auto& direction = std::get<PerturbedDirection>(*drawn);
    report.seed.assign(reinterpret_cast<const char*>(direction.seed().data()), 16);
    const JointEstimate estimate = *contexts.Decode({report.seed, report.values});
    for (std::size_t j = 0; j < 3; ++j) expected.gram[j] += estimate.gram[j];
    for (std::size_t j = 0; j < 2; ++j) expected.moment[j] += estimate.moment[j];
    ++expected.events;
    expected.gram_variance += contexts.variance().gram;
    expected.moment_variance += contexts.variance().moment;
    model->ReportContexts({report}, [](auto results) { ASSERT_THAT(results, IsOk()); });
    model->Step();
    if (i % 10 != 9) continue;
    clock_.Advance(kHalfLife / 2);
    model->Step();
    fade(std::sqrt(0.5));
    if (i == 19) {  // what is restored goes on
      ASSERT_THAT(model->Checkpoint(), IsOk());
      model.reset();
      model = Open(spec);
    }
  }
  auto reference = *BanditModel::Create(spec.bandit, spec.coupling);
  auto repaired = RepairStatistics(expected, spec.theta_l2_max);
  ASSERT_THAT(repaired, IsOk());
  ASSERT_THAT(reference->SetReleased(0, repaired->statistics), IsOk());
  reference->Refresh();
  const NodePosterior served = NodeOf(*model->posterior(), 0);
  for (int i = 0; i < 2; ++i) EXPECT_NEAR(served.mean[i], reference->Posterior(0).mean[i], 1e-9);
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(served.covariance[i], reference->Posterior(0).covariance[i], 1e-9);
  }
}

// A world that turns around: the model that forgets has learnt the new one while the other still
// believes the old one.
TEST(ForgettingCore, LearnsAWorldThatHasChangedAnew) {
  double error[2];
  for (const bool forgets : {false, true}) {
    const auto core = *ModelCore::Create(SharedSpec(forgets ? kForgets : ""), {}, nullptr);
    absl::Time now = absl::FromUnixSeconds(86400 * 20'000);
    for (int i = 0; i < 400; ++i, now += kStep) {
      if (forgets) {
        ASSERT_THAT(core->Append(Encode(FadeRecord{now, kHalfLife})), IsOk());
      }
      const double angle = 0.7 * i;
      const double sign = i < 300 ? 1 : -1;
      const std::vector<double> x = {std::cos(angle), std::sin(angle)};
      ASSERT_THAT(core->Append(Encode(OutcomeRecord{.event = {.epoch = 1, .node = 0, .features = x},
                                                    .reward = sign * (0.3 * x[0] - 0.4 * x[1])})),
                  IsOk());
    }
    const std::vector<double> mean = core->Posterior(0).mean;
    error[forgets] = std::hypot(mean[0] + 0.3, mean[1] - 0.4);
  }
  EXPECT_GT(error[false], 0.7) << "300 events of one world and 100 of the other";
  EXPECT_LT(error[true], 0.15);
}

TEST_F(ForgettingTest, ACopyForgetsAsTheModelDoes) {
  const auto model = Open(IndependentSpec(kForgets));
  Report(*model, {1, 0}, 1, "ann");
  clock_.Advance(3 * kStep);
  model->Step();
  Report(*model, {1, 0}, 1, "bob");
  const server::ExportedModel exported = *server::DecodeExport(*model->Export());
  EXPECT_EQ(exported.checkpoint.version, 10u);  // 6 and fading
  const Fading& fading = exported.checkpoint.state.fading;
  EXPECT_EQ(fading.steps(), 3u);
  EXPECT_EQ(fading.half_life(), kHalfLife);
  EXPECT_EQ(fading.time(), clock_.Now());
  ASSERT_EQ(exported.checkpoint.statistics.size(), 2u);
  EXPECT_EQ(exported.checkpoint.statistics[0].steps, 0u) << "untouched since her event";
  EXPECT_EQ(exported.checkpoint.statistics[1].steps, 3u);
  EXPECT_EQ(
      server::EncodeAgain(exported.checkpoint),
      server::EncodeAgain(*server::DecodeCheckpoint(server::EncodeAgain(exported.checkpoint))));
}

TEST_F(ForgettingTest, AModelThatNeverForgotKeepsItsFormat) {
  const auto model = Open(IndependentSpec());
  Report(*model, {1, 0}, 1, "ann");
  EXPECT_EQ(server::DecodeExport(*model->Export())->checkpoint.version, 6u);
}

}  // namespace
}  // namespace bandana::testing

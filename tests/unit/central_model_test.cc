// Hosted models whose server sees raw rewards and publishes noised statistics only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "common/accounting/composition.h"
#include "common/accounting/zcdp.h"
#include "common/bandits/statistics.h"
#include "common/model/state/central_streams.h"
#include "server/models/folder/export.h"
#include "server/models/folder/noise_key_file.h"
#include "server/models/registry.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/mechanisms.h"
#include "tests/support/statistics.h"

namespace bandana::testing {
namespace {

ModelSpec CentralSpecOf(const std::string& privacy, const std::string& more = "") {
  return SpecOf(
      "name: 'm' dimension: 2 mode: CENTRAL_REWARD shared {} refresh_interval {}"
      " reward_min: -1 reward_max: 3 privacy { epsilon: 2 " +
      privacy + " } " + (more.empty() ? "reporting { one_per_decision: true }" : more));
}

const char kCounter[] = "delta: 1e-6 mechanism: COUNTER counter { horizon: 100 steps_max: 200 }";
const char kRandomizer[] = "mechanism: REWARD_RANDOMIZER";
const char kWindow[] =
    "reporting { reward_window { duration { seconds: 60 } default_reward: 0.25 } }";

std::shared_ptr<const NoiseKey> KeyOf(int fill) {
  std::array<std::byte, 32> bytes{};
  bytes.fill(static_cast<std::byte>(fill));
  return std::make_shared<const NoiseKey>(*NoiseKey::FromBytes(bytes));
}

class CentralModelTest : public HostedModelTest {
 protected:
  CentralModelTest() { options_.noise_key = KeyOf(1); }
  v1::OutcomeCode Event(HostedModel& model, std::uint64_t number, double reward) {
    return CodeOf(ReportOne(model, DecisionOf(model, clock_, number, {0.6, 0.8}), reward));
  }
  std::vector<double> MeanOf(const HostedModel& model) {
    WaitApplied(model);
    return NodeOf(*model.posterior(), 0).mean;
  }
};

// Equal releases, from posteriors that rounded on different paths.
void ExpectNear(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-9 * (1 + std::abs(b[i])));
}

TEST_F(CentralModelTest, ReleasesAreTheSameAfterEveryRecovery) {
  for (const char* privacy : {kCounter, kRandomizer}) {
    SCOPED_TRACE(privacy);
    const TempDir folder;
    const ModelSpec spec = CentralSpecOf(privacy);
    std::vector<std::vector<double>> means;
    server::HostedModelOptions options = options_;
    options.tick_max = absl::Milliseconds(2);
    for (int run = 0; run < 3; ++run) {
      const auto model = *HostedModel::Open(spec, folder.path(), clock_, options);
      WaitApplied(*model);
      if (run > 0) {
        ExpectNear(MeanOf(*model), means.back());
      }
      for (std::uint64_t i = 0; i < 5; ++i) {
        EXPECT_EQ(Event(*model, 10 * run + i, i % 2 == 0 ? 1 : -1), v1::APPLIED);
      }
      means.push_back(MeanOf(*model));
      if (run == 1) {
        EXPECT_THAT(model->Checkpoint(), IsOk());
      }
    }
    // From the checkpoint and the entries after it.
    const auto model = *HostedModel::Open(spec, folder.path(), clock_, options);
    ExpectNear(MeanOf(*model), means.back());
  }
}

TEST_F(CentralModelTest, ThePosteriorIsNotThatOfTheRawRewards) {
  const ModelSpec spec = CentralSpecOf(kCounter);
  const auto model = Open(spec);
  NodeStatistics raw = EmptyStatistics(2);
  const std::vector<double> x = {0.6, 0.8};
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(Event(*model, i, 3), v1::APPLIED);
    AddEvent({.features = x, .reward = 3}, raw);
  }
  auto same = *BanditModel::Create(spec.bandit, spec.coupling);
  raw.moment_variance = testing::DesignOf(spec.public_spec).PredictedVariance(20);
  ASSERT_THAT(same->SetReleased(0, raw), IsOk());
  same->Refresh();
  const std::vector<double> mean = MeanOf(*model);
  EXPECT_NE(mean, same->Posterior(0).mean);
  // Widths read the public contexts and the public variance: they agree.
  const auto width = NodeOf(*model->posterior(), 0).covariance;
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(width[i], same->Posterior(0).covariance[i], 1e-12);
  // The state that leaves by Export holds the release, and contexts with mid for every reward.
  EXPECT_NEAR(StatisticsOf(*model)[0].moment[0], 20 * 0.6 * 1, 1e-9);
}

TEST_F(CentralModelTest, EveryStreamIsDebitedBeforeItsFirstEvent) {
  const ModelSpec spec = CentralSpecOf(kCounter);
  const auto model = Open(spec);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(Event(*model, i, 1), v1::APPLIED);
  EXPECT_EQ(*model->OpenEpoch(), 2);
  for (std::uint64_t i = 3; i < 6; ++i) EXPECT_EQ(Event(*model, i, 1), v1::APPLIED);
  WaitApplied(*model);
  const v1::GetLedgerResponse ledger = model->Ledger();
  ASSERT_EQ(ledger.entries_size(), 2);
  EXPECT_EQ(ledger.entries(1).log_sequence(), 1);
  EXPECT_EQ(ledger.entries(0).log_sequence(), 6);  // debit, 3 events, epoch
  const double rho = testing::DesignOf(spec.public_spec).cost().value;
  EXPECT_EQ(ledger.entries(0).rho(), rho);
  EXPECT_GT(ledger.user().epsilon_zcdp(), 2);
  EXPECT_LT(ledger.user().epsilon_zcdp(), 4);
  EXPECT_EQ(ledger.epsilon_spent_event(), 2);
  EXPECT_EQ(ledger.delta_spent_event(), 1e-6);
  // Six events of one user at once: 36 rho, far more than 6 epsilon.
  const auto user = ZcdpEpsilon(GroupZcdp({rho}, 6), Delta{1e-6});
  EXPECT_EQ(ledger.epsilon_spent_user(), user->value);
  EXPECT_GT(ledger.epsilon_spent_user(), 12);
}

TEST_F(CentralModelTest, TheRandomizerIsDebitedInBlocks) {
  const auto model = Open(CentralSpecOf(kRandomizer));
  for (std::uint64_t i = 0; i < 257; ++i) EXPECT_EQ(Event(*model, i, 1), v1::APPLIED);
  WaitApplied(*model);
  const v1::GetLedgerResponse ledger = model->Ledger();
  ASSERT_EQ(ledger.entries_size(), 2);
  EXPECT_EQ(ledger.entries(0).epsilon(), 512);
  EXPECT_EQ(ledger.entries(0).log_sequence(), 258);
  EXPECT_NEAR(ledger.user().epsilon_pure(), 1024, 1e-6);
}

TEST_F(CentralModelTest, AnExhaustedCounterRefusesAndServesOn) {
  const auto model =
      Open(CentralSpecOf("delta: 1e-6 mechanism: COUNTER counter { horizon: 2 steps_max: 2 }"));
  EXPECT_EQ(Event(*model, 1, 1), v1::APPLIED);
  EXPECT_EQ(Event(*model, 2, 1), v1::APPLIED);
  const std::vector<double> last = MeanOf(*model);
  EXPECT_THAT(ReportOne(*model, DecisionOf(*model, clock_, 3, {1, 0}), 1),
              StatusIs(absl::StatusCode::kFailedPrecondition, "privacy.counter.steps_max = 2"));
  EXPECT_EQ(MeanOf(*model), last);
  EXPECT_EQ(model->Stats().reports_rejected().at("stream_exhausted"), 1);
  EXPECT_EQ(*model->OpenEpoch(), 2);
  EXPECT_EQ(Event(*model, 4, 1), v1::APPLIED);
  EXPECT_NE(MeanOf(*model), last);
}

TEST_F(CentralModelTest, WindowsCloseThroughTheCounter) {
  const auto model = Open(CentralSpecOf(kCounter, kWindow));
  const auto decision = DecisionOf(*model, clock_, 1, {0.6, 0.8});
  ASSERT_THAT(model->RecordDecision(decision), IsOk());
  ASSERT_THAT(model->RecordDecision(DecisionOf(*model, clock_, 2, {0.6, 0.8})), IsOk());
  EXPECT_EQ(CodeOf(ReportOne(*model, decision, 3)), v1::APPLIED);
  EXPECT_THAT(MeanOf(*model), ::testing::Each(0));
  clock_.Advance(absl::Seconds(61));  // not the grace
  EXPECT_EQ(CodeOf(ReportOne(*model, decision, 3)), v1::APPLIED);
  clock_.Advance(absl::Seconds(17));
  EXPECT_TRUE(Eventually([&] { return NodeOf(*model->posterior(), 0).mean[0] != 0; }));
  EXPECT_EQ(StatisticsOf(*model)[0].events, 2);
  EXPECT_EQ(model->Ledger().entries_size(), 1);
}

TEST_F(CentralModelTest, WhatIsCountedDoesNotTellAboutRewards) {
  const auto model = Open(CentralSpecOf(kCounter));
  EXPECT_EQ(Event(*model, 1, 1e6), v1::APPLIED);
  EXPECT_EQ(Event(*model, 2, std::nan("")), v1::APPLIED);
  EXPECT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, 3, {1, 0}), std::nullopt)),
            v1::APPLIED);
  EXPECT_EQ(model->Stats().rewards_clipped(), 0);
  EXPECT_TRUE(model->Stats().reports_rejected().empty());
}

const char kEpochs[] =
    "delta: 1e-6 mechanism: COUNTER counter { kind: EPOCHS horizon: 100 steps_max: 200 }";

// Epochs end at 32, 34, 36, ..
TEST_F(CentralModelTest, EpochsMoveThePosteriorAtTheirEndsWithTheContextsThatTheyCover) {
  const ModelSpec spec = CentralSpecOf(kEpochs);
  const auto model = Open(spec);
  const auto design = testing::DesignOf(spec.public_spec);
  std::vector<double> mean(2);
  NodeStatistics covered = EmptyStatistics(2);
  const std::vector<double> x = {0.6, 0.8};
  for (std::uint64_t step = 1; step <= 37; ++step) {
    EXPECT_EQ(Event(*model, step, step % 2 == 0 ? 3 : -1), v1::APPLIED);
    while (covered.events < design.Covered(step)) {
      AddEvent({.features = x, .reward = 1}, covered);
    }
    const std::vector<double> now = MeanOf(*model);
    EXPECT_EQ(now != mean, design.ReleaseSize(step) > 0) << step;
    mean = now;
    const NodeStatistics stored = StatisticsOf(*model)[0];
    EXPECT_EQ(stored.events, step);
    ExpectNear(stored.gram, covered.gram);
    ExpectNear(stored.moment, covered.moment);
  }
  covered.moment_variance = design.PredictedVariance(37);
  auto same = *BanditModel::Create(spec.bandit, spec.coupling);
  ASSERT_THAT(same->SetReleased(0, covered), IsOk());
  same->Refresh();
  ExpectNear(NodeOf(*model->posterior(), 0).covariance, same->Posterior(0).covariance);
  // The model's epoch ends the counter inside its own: what is held is never released.
  EXPECT_EQ(*model->OpenEpoch(), 2);
  for (std::uint64_t step = 1; step <= 32; ++step) Event(*model, 100 + step, 3);
  WaitApplied(*model);
  EXPECT_NEAR(StatisticsOf(*model)[0].moment[0], (36 + 32) * 0.6, 1e-9);
  EXPECT_EQ(StatisticsOf(*model)[0].events, 37 + 32);
}

TEST_F(CentralModelTest, HeldContextsComeThroughRecoveryCheckpointAndLeaveAnExport) {
  const ModelSpec spec = CentralSpecOf(kEpochs);
  std::vector<double> mean;
  {
    const auto model = Open(spec);
    for (std::uint64_t step = 1; step <= 33; ++step) Event(*model, step, 3);
    mean = MeanOf(*model);
  }
  for (const bool checkpoint : {false, true}) {
    const auto model = Open(spec);
    ExpectNear(MeanOf(*model), mean);
    EXPECT_NEAR(StatisticsOf(*model)[0].moment[0], 32 * 0.6, 1e-9);
    if (!checkpoint) {
      ASSERT_THAT(model->Checkpoint(), IsOk());
    }
  }
  {
    const auto model = Open(spec);  // from the checkpoint
    const auto exported = *server::DecodeExport(*model->Export());
    EXPECT_NEAR(exported.checkpoint.statistics[0].moment[0], 32 * 0.6, 1e-9);
    EXPECT_FALSE(HeldContexts(exported.checkpoint.state.held).Take({0, {}}));
    Event(*model, 34, 3);
    const std::vector<double> next = MeanOf(*model);
    EXPECT_NE(next, mean);
    mean = next;
    EXPECT_NEAR(StatisticsOf(*model)[0].moment[0], 34 * 0.6, 1e-9);
  }
  const auto model = Open(spec);
  ExpectNear(MeanOf(*model), mean);
  EXPECT_NEAR(StatisticsOf(*model)[0].moment[0], 34 * 0.6, 1e-9);
}

TEST_F(CentralModelTest, AnotherKeyOrNoneIsRefused) {
  Open(CentralSpecOf(kCounter));
  options_.noise_key = KeyOf(2);
  EXPECT_THAT(TryOpen(CentralSpecOf(kCounter)),
              StatusIs(absl::StatusCode::kFailedPrecondition, "model m: the noise key"));
  options_.noise_key = nullptr;
  EXPECT_THAT(TryOpen(CentralSpecOf(kCounter)),
              StatusIs(absl::StatusCode::kFailedPrecondition, "model m: a central model needs"));
}

TEST_F(CentralModelTest, TheNoiseParametersOfAModelAreFixed) {
  Open(CentralSpecOf(kCounter));
  EXPECT_THAT(TryOpen(CentralSpecOf(kCounter,
                                    "feature_l2_max: 0.5 reporting { one_per_decision: "
                                    "true }")),
              StatusIs(absl::StatusCode::kInvalidArgument, "model m: counter is BLT"));
}

TEST_F(CentralModelTest, ALogThatWasPutBackIsRefused) {
  namespace fs = std::filesystem;
  const ModelSpec spec = CentralSpecOf(kCounter);
  const TempDir copy;
  const auto log_files = [](const std::string& from, const std::string& to) {
    for (const auto& entry : fs::directory_iterator(to)) {
      if (entry.path().filename().string().starts_with("log.sqlite")) fs::remove(entry.path());
    }
    for (const auto& entry : fs::directory_iterator(from)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("log.sqlite")) fs::copy(entry.path(), to + "/" + name);
    }
  };
  Event(*Open(spec), 1, 1);
  log_files(folder_.path(), copy.path());
  {
    const auto model = Open(spec);
    for (std::uint64_t i = 2; i < 5; ++i) EXPECT_EQ(Event(*model, i, 1), v1::APPLIED);
    MeanOf(*model);
  }
  log_files(copy.path(), folder_.path());
  EXPECT_THAT(TryOpen(spec), StatusIs(absl::StatusCode::kDataLoss, "model m: the log ends at"));
  // The old log goes on with other reports, up to the same step.
  fs::rename(folder_.path() + "/published", copy.path() + "/published");
  {
    const auto model = Open(spec);
    for (std::uint64_t i = 12; i < 15; ++i) EXPECT_EQ(Event(*model, i, 1), v1::APPLIED);
  }
  fs::rename(copy.path() + "/published", folder_.path() + "/published");
  EXPECT_THAT(TryOpen(spec), StatusIs(absl::StatusCode::kDataLoss, "model m: log entry"));
}

TEST_F(CentralModelTest, ACopyPaysAndDrawsForItself) {
  auto registry =
      *server::ModelRegistry::Open({.data_dir = folder_.path(), .models_max = 3}, clock_);
  const auto model = *registry->Create(CentralSpecOf(kCounter));
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(Event(*model, i, 1), v1::APPLIED);
  const std::vector<double> mean = MeanOf(*model);
  const auto copy = *registry->Import("copy", *model->Export());
  EXPECT_EQ(copy->epoch(), 2);
  ExpectNear(NodeOf(*copy->posterior(), 0).mean, mean);  // what was released stands
  EXPECT_EQ(Event(*copy, 100, 1), v1::APPLIED);
  EXPECT_EQ(Event(*model, 100, 1), v1::APPLIED);
  WaitApplied(*copy);
  EXPECT_NE(MeanOf(*copy), MeanOf(*model));
  EXPECT_EQ(copy->Ledger().entries_size(), 2);
  EXPECT_EQ(model->Ledger().entries_size(), 1);
  // Opened again, it still is under the server's one key.
  registry.reset();
}

TEST(NoiseKeyFileTest, IsMadeOnceAndKeptFromOthers) {
  const TempDir folder;
  ASSERT_THAT(server::OpenNoiseKey(folder.path(), SystemBits()), IsOk());
  const std::string path = folder.path() + "/noise_key";
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
  ASSERT_THAT(server::OpenNoiseKey(folder.path(), SystemBits()), IsOk());
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  EXPECT_THAT(server::OpenNoiseKey(folder.path(), SystemBits()),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  std::ofstream(path, std::ios::app) << "x";
  EXPECT_THAT(server::OpenNoiseKey(folder.path(), SystemBits()),
              StatusIs(absl::StatusCode::kDataLoss));
}

// Two logs that agree up to a step and differ after it: their noise after it is independent, so
// that no difference of theirs is exact.
TEST(CentralStreamsTest, ForkedHistoriesHaveIndependentNoise) {
  constexpr int kDimension = 256;
  constexpr int kSteps = 16;
  const auto design = *CounterDesign::Create(
      {.dimension = kDimension, .norm_bound = 1, .rho = Rho{0.1}, .horizon = 1000});
  const auto key = KeyOf(7);
  const std::vector<double> nothing(kDimension);
  const auto run = [&](int branch) {
    CentralStreams streams;
    std::vector<std::vector<double>> estimates;
    for (int step = 0; step < 2 * kSteps; ++step) {
      Sha256Digest history{};
      history[0] = static_cast<std::byte>(step);
      if (step >= kSteps) history[1] = static_cast<std::byte>(branch);
      const auto increment = *ClippedIncrement::Clip(nothing, design.grid());
      EXPECT_THAT(
          streams.Step(0, increment, design, {.key = key.get(), .epoch = 1, .history = history}),
          IsOk());
      estimates.push_back(streams.ReleaseOf(0, design).value().moment);
    }
    return estimates;
  };
  const auto a = run(1), again = run(1), b = run(2);
  EXPECT_EQ(a, again);
  // After the common prefix its last release changes by fresh noise alone: the changes of a branch
  // in one step, free of the buffers' memory of the prefix, are those of step kSteps.
  double ab = 0, aa = 0, bb = 0, same = 0;
  for (int step = 0; step < kSteps; ++step) EXPECT_EQ(a[step], b[step]);
  for (int c = 0; c < kDimension; ++c) {
    double change_a = 0, change_b = 0;
    for (int step = kSteps; step < 2 * kSteps; ++step) {
      const double da = a[step][c] - a[step - 1][c];
      const double db = b[step][c] - b[step - 1][c];
      // Remove what both owe to the prefix by alternating signs; its memory is slow.
      change_a += step % 2 == 0 ? da : -da;
      change_b += step % 2 == 0 ? db : -db;
    }
    ab += change_a * change_b;
    aa += change_a * change_a;
    bb += change_b * change_b;
    same += change_a * change_a;
  }
  // Under independence the correlation of 256 pairs is near N(0, 1/256).
  constexpr double kZ = 4.892;
  static_assert(AlphaOf("central_fork_independence") == 1e-6);
  EXPECT_LT(std::abs(ab / std::sqrt(aa * bb)), kZ / std::sqrt(kDimension));
  // Mutant: the history left out of the address gives the same noise, correlation 1.
  EXPECT_GT(same / aa, kZ / std::sqrt(kDimension));
}

}  // namespace
}  // namespace bandana::testing

// Hosted models whose contexts and rewards are private together (mode JOINT).
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "common/bandits/noisy_gram.h"
#include "common/bandits/statistics.h"
#include "common/design/planner/served_config.h"
#include "common/mechanisms/joint/joint_counter.h"
#include "common/model/entries/records.h"
#include "server/models/folder/export.h"
#include "server/models/folder/recovery.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/mechanisms.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr char kBlt[] = "mechanism: COUNTER counter { horizon: 100 steps_max: 200 }";
constexpr char kEpochs[] =
    "mechanism: COUNTER counter { kind: EPOCHS horizon: 100 steps_max: 200 }";
constexpr char kOnce[] = "reporting { one_per_decision: true }";

std::string JointText(const std::string& counter, const std::string& coupling = "shared {}",
                      const std::string& more = kOnce, const std::string& epsilon = "2") {
  return "name: 'm' dimension: 2 mode: JOINT " + coupling +
         " refresh_interval {} reward_min: -1 reward_max: 0.5 feature_l2_max: 2"
         " privacy { epsilon: " +
         epsilon + " delta: 1e-6 " + counter + " } " + more;
}

// Where a posterior must have moved: an instance's noise is its own, and S^p is below the cone in
// some of them (then nothing is known, and the mean is 0), but not with so little noise.
constexpr char kLittleNoise[] = "18";

std::shared_ptr<const NoiseKey> Key() {
  std::array<std::byte, 32> bytes{};
  bytes.fill(std::byte{11});
  return std::make_shared<const NoiseKey>(*NoiseKey::FromBytes(bytes));
}

class JointServedTest : public HostedModelTest {
 protected:
  JointServedTest() { options_.noise_key = Key(); }
  v1::OutcomeCode Take(HostedModel& model, std::uint64_t number, std::vector<double> x,
                       double reward, const std::string& user = "") {
    return CodeOf(ReportOne(model, DecisionOf(model, clock_, number, std::move(x), user), reward));
  }
  void TakeMany(HostedModel& model, std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = first; i < first + count; ++i) {
      const double angle = 0.7 * static_cast<double>(i);
      ASSERT_EQ(
          Take(model, i, {1.5 * std::cos(angle), 1.5 * std::sin(angle)}, i % 2 == 0 ? 0.5 : -1),
          v1::APPLIED);
    }
    WaitApplied(model);
  }
  server::Recovered Recover(const ModelSpec& spec) {
    UserIndex users;
    Counters counters;
    return *server::Recover(spec, folder_.path(), {.noise_key = Key()}, users, counters);
  }
};

// The pure counter over the log's events, with the noise of each entry's address.
JointSums ByHand(const ModelSpec& spec, const server::Recovered& recovered) {
  const auto counter = *JointCounter::Create({.dimension = 2,
                                              .context_l2_max = 2,
                                              .reward_abs_max = 1,
                                              .epsilon = Epsilon{2},
                                              .delta = Delta{1e-6},
                                              .kind = CounterKind::kBlt,
                                              .horizon = 100,
                                              .step_cap = 200});
  EXPECT_EQ(counter.design().digest(), testing::DesignOf(spec).digest());
  CounterEncoder encoder(counter.design());
  CounterDecoder decoder(counter.design());
  const auto key = Key();
  Sha256Digest chain{};
  std::vector<LogEntry> entries;
  EXPECT_THAT(recovered.log->Read({}, 1000, entries), IsOk());
  for (const LogEntry& entry : entries) {
    const auto record = *Decode(entry.record, 2);
    const auto* outcome = std::get_if<OutcomeRecord>(&record);
    if (outcome == nullptr) continue;
    std::vector<double> x(2);
    std::memcpy(x.data(), outcome->event.features.bytes().data(), 16);
    const ClippedIncrement increment = counter.Clip(RawInteraction(x, outcome->reward));
    chain = increment.ChainAfter(chain);
    auto bits = *KeyedStream::ForNode(*key, {.instance = recovered.stored.instance,
                                             .epoch = 1,
                                             .parameters = counter.design().digest(),
                                             .stream = 0,
                                             .node = encoder.step() + 1,
                                             .history = entry.position.hash,
                                             .input = NoiseInput(chain)});
    const auto release = *encoder.Step(increment, bits);
    EXPECT_THAT(decoder.Push(release), IsOk());
  }
  return counter.Read(decoder);
}

TEST_F(JointServedTest, ServesThePureMechanismOnTheKeyedNoise) {
  const ModelSpec spec = SpecOf(JointText(kBlt));
  NodePosterior served;
  {
    const auto model = Open(spec);
    TakeMany(*model, 0, 40);
    served = NodeOf(*model->posterior(), 0);
  }
  const JointSums sums = ByHand(spec, Recover(spec));
  const auto repaired = *RepairStatistics({.gram = sums.gram,
                                           .moment = sums.moment,
                                           .events = 40,
                                           .gram_variance = sums.gram_variance,
                                           .moment_variance = sums.moment_variance},
                                          std::sqrt(2.0));
  auto one = *BanditModel::Create(spec.bandit, spec.coupling);
  ASSERT_THAT(one->SetReleased(0, repaired.statistics), IsOk());
  one->Refresh();
  for (int i = 0; i < 2; ++i) EXPECT_NEAR(served.mean[i], one->Posterior(0).mean[i], 1e-9);
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(served.covariance[i], one->Posterior(0).covariance[i], 1e-9);
  }
}

TEST_F(JointServedTest, KeepsNoContextBesideTheLogAndTheCounter) {
  const auto model = Open(SpecOf(JointText(kBlt)));
  TakeMany(*model, 0, 10);
  const NodeStatistics statistics = StatisticsOf(*model)[0];
  EXPECT_THAT(statistics.gram, Each(0));
  EXPECT_THAT(statistics.moment, Each(0));
  EXPECT_EQ(statistics.events, 10);
  const auto exported = *server::DecodeExport(*model->Export());
  EXPECT_EQ(exported.checkpoint.state.central.steps(0), 0);
  EXPECT_TRUE(exported.checkpoint.state.windows.all().empty());
}

TEST_F(JointServedTest, WhatIsCountedDoesNotTellAboutContextsOrRewards) {
  const auto model = Open(SpecOf(JointText(kBlt)));
  model->CountVectors(3, 3);
  EXPECT_EQ(Take(*model, 1, {1, 0}, 1e6), v1::APPLIED);
  EXPECT_EQ(Take(*model, 2, {1, 0}, std::nan("")), v1::APPLIED);
  EXPECT_EQ(model->Stats().features_clipped(), 0);
  EXPECT_EQ(model->Stats().rewards_clipped(), 0);
  EXPECT_TRUE(model->Stats().reports_rejected().empty());
}

// Hardly more than noise, of 8 x 8: one in 1e7 such matrices is positive semidefinite.
TEST_F(JointServedTest, AFewEventsLeaveGramsThatAreRepairedAndCounted) {
  const auto model = Open(SpecOf(
      std::string("name: 'm' dimension: 8 mode: JOINT shared {} refresh_interval {} privacy {"
                  " epsilon: 0.1 delta: 1e-6 ") +
      kBlt + " } " + kOnce));
  for (std::uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(Take(*model, i, {1, 0, 0, 0, 0, 0, 0, 0}, 1), v1::APPLIED);
  }
  WaitApplied(*model);
  EXPECT_GE(model->Stats().grams_repaired(), 1);
  EXPECT_LE(model->Stats().grams_repaired(), 5);
  const NodePosterior posterior = NodeOf(*model->posterior(), 0);
  for (const double value : posterior.covariance) EXPECT_TRUE(std::isfinite(value));
  EXPECT_GT(posterior.covariance[0], 0);
}

// Epochs end at 32, 34, ..
TEST_F(JointServedTest, EpochsMoveThePosteriorAtTheirEnds) {
  const auto model = Open(SpecOf(JointText(kEpochs, "shared {}", kOnce, kLittleNoise)));
  const NodePosterior prior = NodeOf(*model->posterior(), 0);
  TakeMany(*model, 0, 31);
  EXPECT_EQ(NodeOf(*model->posterior(), 0).mean, prior.mean);
  EXPECT_EQ(NodeOf(*model->posterior(), 0).covariance, prior.covariance);
  TakeMany(*model, 31, 1);
  EXPECT_NE(NodeOf(*model->posterior(), 0).mean, prior.mean);
  const std::vector<double> mean = NodeOf(*model->posterior(), 0).mean;
  TakeMany(*model, 32, 1);
  EXPECT_EQ(NodeOf(*model->posterior(), 0).mean, mean);
}

TEST_F(JointServedTest, TheSameBitsComeOutOfLogAndCheckpoint) {
  const ModelSpec spec = SpecOf(JointText(kEpochs));
  {
    const auto model = Open(spec);
    TakeMany(*model, 0, 50);
  }
  const auto release_of = [&](const server::Recovered& recovered) {
    return recovered.path->ReleaseOf(recovered.state, 0).value().moment;
  };
  const std::vector<double> from_log = release_of(Recover(spec));
  {
    const auto model = Open(spec);
    EXPECT_THAT(model->Checkpoint(), IsOk());
  }
  EXPECT_EQ(release_of(Recover(spec)), from_log);
  const auto model = Open(spec);
  EXPECT_EQ(*model->OpenEpoch(), 2);
  TakeMany(*model, 100, 32);
  // The first epoch's release stands, and the second adds to it.
  const server::Recovered recovered = Recover(spec);
  EXPECT_NE(release_of(recovered), from_log);
  const auto design = testing::DesignOf(spec);
  EXPECT_NEAR(recovered.path->ReleaseOf(recovered.state, 0).value().variance,
              design.PredictedVariance(50) + design.PredictedVariance(32),
              1e-9 * design.PredictedVariance(50));
}

TEST_F(JointServedTest, EveryUserOfIndependentModelsHasAStreamOfTheirOwn) {
  const ModelSpec spec =
      SpecOf(JointText(kBlt, "independent { users_max: 3 }", kOnce, kLittleNoise));
  const auto model = Open(spec);
  for (std::uint64_t i = 0; i < 80; ++i) {
    const std::vector<double> x = i % 4 < 2 ? std::vector<double>{2, 0} : std::vector<double>{0, 2};
    EXPECT_EQ(Take(*model, i, x, 0.5, i % 2 == 0 ? "ann" : "bob"), v1::APPLIED);
  }
  WaitApplied(*model);
  EXPECT_EQ(model->Ledger().entries_size(), 2);
  EXPECT_EQ(model->Stats().nodes(), 2);
  EXPECT_NE(NodeOf(*model->posterior(), 0).mean, NodeOf(*model->posterior(), 1).mean);
}

TEST_F(JointServedTest, TheLedgerHoldsOneDebitOfTheCounterAndItsExactReading) {
  const ModelSpec spec = SpecOf(JointText(kEpochs));
  const auto model = Open(spec);
  TakeMany(*model, 0, 3);
  const v1::GetLedgerResponse ledger = model->Ledger();
  ASSERT_EQ(ledger.entries_size(), 1);
  EXPECT_EQ(ledger.entries(0).log_sequence(), 1);
  EXPECT_EQ(ledger.entries(0).principal(), "node 0");
  const auto counter = testing::JointOf(spec.public_spec);
  ASSERT_TRUE(counter.cost().mu.has_value());
  EXPECT_EQ(ledger.entries(0).rho(), counter.design().cost().value);
  ASSERT_TRUE(ledger.user().has_epsilon_gaussian());
  EXPECT_LE(ledger.user().epsilon_gaussian(), 2.001);
  EXPECT_GE(ledger.user().epsilon_gaussian(), 1.9);
  EXPECT_EQ(ledger.epsilon_spent_event(), 2);
  EXPECT_EQ(ledger.mode(), v1::JOINT);
}

TEST_F(JointServedTest, WindowsCloseThroughTheCounter) {
  const auto model = Open(SpecOf(
      JointText(kBlt, "shared {}",
                "reporting { reward_window { duration { seconds: 60 } default_reward: 0.25 } }")));
  const auto decision = DecisionOf(*model, clock_, 1, {0.6, 0.8});
  ASSERT_THAT(model->RecordDecision(decision), IsOk());
  // The answer comes once both are durable: the clock must not move before.
  EXPECT_EQ(CodeOf(ReportOne(*model, decision, 0.5)), v1::APPLIED);
  EXPECT_THAT(NodeOf(*model->posterior(), 0).mean, Each(0));
  clock_.Advance(absl::Seconds(78));  // window and grace
  EXPECT_TRUE(Eventually([&] { return StatisticsOf(*model)[0].events == 1; }));
}

struct Mistake {
  std::string config;
  std::string field;
  std::string message;  // a part of it
};

void ExpectRefused(const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    SCOPED_TRACE(mistake.config);
    v1::ModelConfig config;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(mistake.config, &config));
    std::vector<ConfigError> errors;
    EXPECT_FALSE(ParseServedModel(config, "", false, errors).has_value());
    ASSERT_FALSE(errors.empty());
    EXPECT_EQ(errors[0].field, mistake.field);
    EXPECT_THAT(errors[0].message, HasSubstr(mistake.message));
  }
}

TEST(JointConfigTest, RefusesWhatWouldTellAboutContextsOrHasNoProof) {
  const std::string pure =
      "name: 'm' dimension: 2 mode: JOINT shared {} "
      "reporting { one_per_decision: true } privacy { epsilon: 1 ";
  ExpectRefused({
      {pure + "}", "privacy.delta", "must be above 0 for COUNTER"},
      {pure + "delta: 1e-3 }", "privacy.delta", "unless research is true"},
      {pure + "delta: 1e-6 mechanism: REWARD_RANDOMIZER }", "privacy.mechanism", "AUTO, COUNTER"},
      {pure + "delta: 1e-6 mechanism: SHAPED_COUNTER }", "privacy.mechanism", "AUTO, COUNTER"},
      {JointText("mechanism: COUNTER counter { kind: TREE horizon: 10 steps_max: 10 }"),
       "privacy.counter", "kind must be EPOCHS or BLT"},
      {JointText(kBlt, "colin { graph { users: 2 rows: 0 columns: 1 weights: 1 } }"), "coupling",
       "must be shared, independent or sparse"},
      {JointText(kBlt) + " feature_out_of_range: REJECT", "feature_out_of_range", "must be CLIP"},
      {JointText(kBlt) + " reward_out_of_range: REJECT", "reward_out_of_range", "must be CLIP"},
      {JointText(kBlt, "shared {}", ""), "reporting", "is required for a private model"},
      {JointText(kBlt) + " prior_stddev: 1e6", "prior_stddev", "must keep |theta|"},
  });
}

TEST(JointConfigTest, AutoTakesTheCounterOfTheLeastPredictedError) {
  v1::ModelConfig config = SpecOf(JointText(kBlt)).config;
  config.mutable_privacy()->set_mechanism(v1::AUTO);
  config.mutable_privacy()->clear_counter();
  config.mutable_privacy()->set_planned_events_per_user(20000);
  std::vector<ConfigError> errors;
  const auto spec = ParseServedModel(config, "", false, errors);
  ASSERT_TRUE(spec.has_value()) << (errors.empty() ? "" : errors[0].message);
  EXPECT_EQ(spec->public_spec.mechanism, MechanismId::kCounter);
  EXPECT_EQ(spec->public_spec.counter->kind, CounterKind::kEpochs);
  EXPECT_EQ(spec->public_spec.counter->steps_max, 40000);
  EXPECT_THAT(spec->plan, HasSubstr("* counter (epochs)"));
  EXPECT_THAT(spec->plan, HasSubstr("counter (blt)"));
}

}  // namespace
}  // namespace bandana::testing

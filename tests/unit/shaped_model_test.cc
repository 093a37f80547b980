// Hosted models with one counter over all users of a graph: what they release, pay and refuse.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "common/accounting/zcdp.h"
#include "common/bandits/noise_shape.h"
#include "common/bandits/shaped.h"
#include "common/bandits/statistics.h"
#include "common/design/planner/served_config.h"
#include "common/model/entries/records.h"
#include "common/model/state/user_shape.h"
#include "server/models/folder/export.h"
#include "server/models/folder/recovery.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/mechanisms.h"

namespace bandana::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kChain[] =
    "graph { users: 3 rows: [0, 1, 2, 0, 1] columns: [0, 1, 2, 1, 2] weights: [1, 1, 1, 0.5, 0.5] "
    "}";
constexpr char kBlt[] = "counter { horizon: 50 steps_max: 60 }";
constexpr char kEpochs[] = "counter { kind: EPOCHS horizon: 100 steps_max: 200 }";

ModelSpec ShapedSpec(const std::string& mechanism, const std::string& counter,
                     const std::string& graph = kChain) {
  return SpecOf("name: 'm' dimension: 2 mode: CENTRAL_REWARD colin { " + graph +
                " } refresh_interval {} reward_min: -1 reward_max: 3"
                " privacy { epsilon: 2 delta: 1e-6 mechanism: " +
                mechanism + " " + counter + " } reporting { one_per_decision: true }");
}

std::shared_ptr<const NoiseKey> Key() {
  std::array<std::byte, 32> bytes{};
  bytes.fill(std::byte{9});
  return std::make_shared<const NoiseKey>(*NoiseKey::FromBytes(bytes));
}

struct OneEvent {
  int node;
  std::vector<double> x;
  double reward;
};

OneEvent EventNumber(std::uint64_t i) {
  const double angle = 0.7 * static_cast<double>(i);
  return {static_cast<int>(i % 3),
          {0.9 * std::cos(angle), 0.9 * std::sin(angle)},
          i % 2 == 0 ? 3.0 : -0.5};
}

class ShapedModelTest : public HostedModelTest {
 protected:
  ShapedModelTest() { options_.noise_key = Key(); }
  void Take(HostedModel& model, std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = first; i < first + count; ++i) {
      const OneEvent e = EventNumber(i);
      ASSERT_EQ(CodeOf(ReportOne(model, DecisionOf(model, clock_, i, e.x, std::to_string(e.node)),
                                 e.reward)),
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

// The counter and its keyed noise by hand, from what is in the log: the events, and the running
// hash at each.
struct PureRelease {
  std::vector<double> values;
  double variance = 0;
  std::vector<NodeStatistics> contexts;
};

PureRelease ByHand(const ModelSpec& spec, const server::Recovered& recovered) {
  const auto& component = spec.coupling.components()[0];
  const NoiseShape shape = *ShapeNoise(component.prior, 3);
  const auto design = testing::DesignOf(spec);
  CounterEncoder encoder(design);
  CounterDecoder decoder(design);
  const auto key = Key();
  PureRelease pure;
  pure.contexts.assign(3, EmptyStatistics(2));
  std::vector<LogEntry> entries;
  EXPECT_THAT(recovered.log->Read({}, 1000, entries), IsOk());
  Sha256Digest chain{};
  for (const LogEntry& entry : entries) {
    const auto record = *Decode(entry.record, 2);
    const auto* outcome = std::get_if<OutcomeRecord>(&record);
    if (outcome == nullptr) continue;
    double x[2];
    std::memcpy(x, outcome->event.features.bytes().data(), sizeof x);
    std::vector<double> increment;
    for (int u = 0; u < 3; ++u) {
      const double weight = shape.root[u * 3 + outcome->event.node] * (outcome->reward - 1);
      for (const double value : x) increment.push_back(weight * value);
    }
    const auto clipped = *ClippedIncrement::Clip(increment, design.grid());
    chain = clipped.ChainAfter(chain);
    NoiseAddress address{.instance = recovered.stored.instance,
                         .epoch = 1,
                         .parameters = design.digest(),
                         .stream = 0,
                         .node = encoder.step() + 1,
                         .history = entry.position.hash,
                         .input = NoiseInput(chain)};
    auto bits = *KeyedStream::ForNode(*key, address);
    const auto release = *encoder.Step(clipped, bits);
    EXPECT_THAT(decoder.Push(release), IsOk());
    AddEvent({.features = std::span<const double>(x), .reward = 1},
             pure.contexts[outcome->event.node]);
  }
  pure.values = decoder.Estimate();
  pure.variance = decoder.Variance();
  return pure;
}

TEST_F(ShapedModelTest, ServesThePureMechanismOnTheKeyedNoise) {
  const ModelSpec spec = ShapedSpec("SHAPED_COUNTER", kBlt);
  NodePosterior served[3];
  {
    const auto model = Open(spec);
    Take(*model, 0, 30);
    for (int u = 0; u < 3; ++u) served[u] = NodeOf(*model->posterior(), u);
  }
  const server::Recovered recovered = Recover(spec);
  const PureRelease pure = ByHand(spec, recovered);
  const NodeRelease release = recovered.path->ReleaseOf(recovered.state, 0).value();
  EXPECT_EQ(release.moment, pure.values);
  EXPECT_EQ(release.variance, pure.variance);

  const auto& component = spec.coupling.components()[0];
  const NoiseShape shape = *ShapeNoise(component.prior, 3);
  ShapedRelease shaped{shape.root, pure.values, pure.variance};
  for (int u = 0; u < 3; ++u) {
    for (int v = 0; v < 3; ++v) {
      for (int i = 0; i < 2; ++i) {
        shaped.values[u * 2 + i] += shape.root[u * 3 + v] * pure.contexts[v].moment[i];
      }
    }
  }
  const auto expected = *ShapedPosterior(component, spec.bandit, pure.contexts, shaped);
  for (int u = 0; u < 3; ++u) {
    for (int i = 0; i < 2; ++i) EXPECT_NEAR(served[u].mean[i], expected[u].mean[i], 1e-9);
    for (int i = 0; i < 4; ++i) {
      EXPECT_NEAR(served[u].covariance[i], expected[u].covariance[i], 1e-9);
    }
  }
}

TEST_F(ShapedModelTest, ReleasesAreTheSameBitsFromLogCheckpointAndBoth) {
  const ModelSpec spec = ShapedSpec("SHAPED_COUNTER", kEpochs);
  std::vector<double> from_log;
  {
    const auto model = Open(spec);
    Take(*model, 0, 35);
  }
  {
    const server::Recovered recovered = Recover(spec);
    from_log = recovered.path->ReleaseOf(recovered.state, 0).value().moment;
  }
  {
    const auto model = Open(spec);
    EXPECT_THAT(model->Checkpoint(), IsOk());
  }
  {
    const server::Recovered recovered = Recover(spec);
    EXPECT_GT(recovered.checkpoint_sequence, 0);
    EXPECT_EQ(recovered.path->ReleaseOf(recovered.state, 0).value().moment, from_log);
    ASSERT_TRUE(recovered.state.shape.has_value());
    EXPECT_EQ(recovered.state.shape->root, ShapeOf(spec)->root);
  }
  const auto model = Open(spec);
  Take(*model, 35, 20);
  const server::Recovered recovered = Recover(spec);
  EXPECT_NE(recovered.path->ReleaseOf(recovered.state, 0).value().moment, from_log);
}

// Epochs end at 32, 34, 36, .. events of all users together.
TEST_F(ShapedModelTest, EpochsReleaseTheContextsOfEveryUserTogether) {
  const ModelSpec spec = ShapedSpec("SHAPED_COUNTER", kEpochs);
  const auto model = Open(spec);
  Take(*model, 0, 31);
  EXPECT_THAT(NodeOf(*model->posterior(), 0).mean, ::testing::Each(0));
  for (const NodeStatistics& s : StatisticsOf(*model)) EXPECT_THAT(s.gram, ::testing::Each(0));
  Take(*model, 31, 1);
  for (int u = 0; u < 3; ++u) EXPECT_NE(NodeOf(*model->posterior(), u).mean[0], 0);
  double trace = 0;
  for (const NodeStatistics& s : StatisticsOf(*model)) trace += s.gram[0] + s.gram[2];
  EXPECT_NEAR(trace, 32 * 0.81, 1e-9);
  Take(*model, 32, 1);
  trace = 0;
  for (const NodeStatistics& s : StatisticsOf(*model)) trace += s.gram[0] + s.gram[2];
  EXPECT_NEAR(trace, 32 * 0.81, 1e-9);
}

TEST_F(ShapedModelTest, OneDebitAnEpochPaysForAllUsersAndTheirEventsExhaustIt) {
  const ModelSpec spec = ShapedSpec("SHAPED_COUNTER", "counter { horizon: 4 steps_max: 4 }");
  const auto model = Open(spec);
  Take(*model, 0, 4);
  EXPECT_THAT(ReportOne(*model, DecisionOf(*model, clock_, 9, {1, 0}, "2"), 1),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "privacy.counter.steps_max = 4 events of all users"));
  EXPECT_EQ(*model->OpenEpoch(), 2);
  Take(*model, 10, 1);
  const v1::GetLedgerResponse ledger = model->Ledger();
  ASSERT_EQ(ledger.entries_size(), 2);
  const double rho = testing::DesignOf(spec).cost().value;
  for (const v1::LedgerEntry& entry : ledger.entries()) {
    EXPECT_EQ(entry.principal(), "all users");
    EXPECT_EQ(entry.rho(), rho);
  }
  // Entry 1 is the shape.
  EXPECT_EQ(ledger.entries(1).log_sequence(), 2);
  EXPECT_EQ(ledger.mechanism(), v1::SHAPED_COUNTER);
  EXPECT_EQ(ledger.epsilon_spent_event(), 2);
  const auto two = ZcdpEpsilon({2 * rho}, Delta{1e-6});
  EXPECT_NEAR(ledger.user().epsilon_zcdp(), two->value, 1e-6);
}

TEST_F(ShapedModelTest, TheGraphIsFixed) {
  const auto model = Open(ShapedSpec("SHAPED_COUNTER", kBlt));
  v1::Graph graph = model->spec().config.colin().graph();
  EXPECT_THAT(model->PutGraph(graph), StatusIs(absl::StatusCode::kFailedPrecondition,
                                               "model m has one counter over all users"));
}

TEST_F(ShapedModelTest, AnotherGraphInTheConfigurationIsRefused) {
  Open(ShapedSpec("SHAPED_COUNTER", kBlt));
  EXPECT_THAT(
      TryOpen(ShapedSpec("SHAPED_COUNTER", kBlt,
                         "graph { users: 3 rows: [0, 1] columns: [1, 2] weights: [1, 1] }")),
      StatusIs(absl::StatusCode::kInvalidArgument, "model m: shaped_graph is"));
}

// Users who are all the same user to CoLin (every column of W is equal): their pooled counter is
// that of one LinUCB with the sums of all.
TEST_F(ShapedModelTest, APooledCounterOfUsersWhoAreOneIsThatOfOneUser) {
  const std::string same =
      "graph { kind: INFLUENCE users: 2 rows: [0, 0, 1, 1] columns: [0, 1, 0, 1]"
      " weights: [0.5, 0.5, 0.5, 0.5] }";
  const ModelSpec spec = ShapedSpec("POOLED_COUNTER", kBlt, same);
  NodePosterior served;
  {
    const auto model = Open(spec);
    for (std::uint64_t i = 0; i < 20; ++i) {
      const OneEvent e = EventNumber(i);
      ASSERT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, i, e.x, std::to_string(i % 2)),
                                 e.reward)),
                v1::APPLIED);
    }
    WaitApplied(*model);
    served = NodeOf(*model->posterior(), 1);
  }
  const server::Recovered recovered = Recover(spec);
  const NodeRelease release = recovered.path->ReleaseOf(recovered.state, 0).value();
  // y_u = sum / sqrt 2 + z_u each: their mean times sqrt 2 has the noise of one.
  NodeStatistics all = EmptyStatistics(2);
  for (const NodeStatistics& s : recovered.statistics) {
    for (int i = 0; i < 3; ++i) all.gram[i] += s.gram[i];
    for (int i = 0; i < 2; ++i) all.moment[i] += s.moment[i];
    all.events += s.events;
  }
  for (int i = 0; i < 2; ++i) {
    all.moment[i] += (release.moment[i] + release.moment[2 + i]) / std::sqrt(2.0);
  }
  all.moment_variance = release.variance;
  BanditModel::Options options = spec.bandit;
  options.prior_variance *= spec.coupling.components()[0].prior[0];
  auto one = *BanditModel::Create(options, Coupling::Shared());
  ASSERT_THAT(one->SetReleased(0, all), IsOk());
  one->Refresh();
  for (int i = 0; i < 2; ++i) EXPECT_NEAR(served.mean[i], one->Posterior(0).mean[i], 1e-9);
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(served.covariance[i], one->Posterior(0).covariance[i], 1e-9);
  }
}

// Without open windows a checkpoint of format 3 is one of format 6 without the shape and
// an episode.
TEST_F(ShapedModelTest, CheckpointsOfFormat3AreStillRead) {
  const auto model = Open(SharedSpec());
  const auto exported = *server::DecodeExport(*model->Export());
  std::string bytes = server::EncodeAgain(exported.checkpoint);
  ASSERT_EQ(bytes[8], 6);
  bytes[8] = 3;
  bytes.resize(bytes.size() - 32 - 4 - 9);
  bytes += AsChars(Sha256Of(bytes));
  const auto old = server::DecodeCheckpoint(bytes);
  ASSERT_THAT(old, IsOk());
  EXPECT_FALSE(old->state.shape.has_value());
  EXPECT_EQ(old->instance, exported.checkpoint.instance);
}

TEST_F(ShapedModelTest, ACopyKeepsShapeAndReleasesAndPaysForItself) {
  const ModelSpec spec = ShapedSpec("SHAPED_COUNTER", kBlt);
  const auto model = Open(spec);
  Take(*model, 0, 5);
  auto exported = *server::DecodeExport(*model->Export());
  ASSERT_TRUE(exported.checkpoint.state.shape.has_value());
  EXPECT_EQ(exported.checkpoint.state.epoch, 2);
  // Streams are closed: what they released stands, without a raw sum.
  EXPECT_EQ(exported.checkpoint.state.central.steps(0), 0);
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

TEST(ShapedConfigTest, IsForCentralGraphsOfACertainSize) {
  const std::string end =
      " reporting { one_per_decision: true } privacy { epsilon: 1 delta: 1e-6 "
      "mechanism: SHAPED_COUNTER }";
  const std::string model = "name: 'm' dimension: 2 ";
  const std::string pair = "colin { graph { users: 2 rows: 0 columns: 1 weights: 1 } } ";
  std::string ring = "goblin { graph { users: 129 ";
  for (int i = 0; i < 129; ++i) {
    ring += "rows: " + std::to_string(i) + " columns: " + std::to_string((i + 1) % 129) +
            " weights: 1 ";
  }
  ring += "} } ";
  const std::string central = model + "mode: CENTRAL_REWARD ";
  ExpectRefused({
      {central + "shared {}" + end, "privacy.mechanism", "is for colin and goblin models"},
      {central + "independent {}" + end, "privacy.mechanism", "is for colin and goblin models"},
      {model + "mode: LOCAL_REWARD " + pair + end, "privacy.mechanism", "of mode LOCAL_REWARD"},
      {central + ring + end, "privacy.mechanism", "needs at most 128 nodes"},
      {"name: 'm' dimension: 256 mode: CENTRAL_REWARD goblin { graph { users: 5 rows: [0, 1, 2, 3]"
       " columns: [1, 2, 3, 4] weights: [1, 1, 1, 1] } }" +
           end,
       "privacy.mechanism", "nodes x dimension <= 1024, got 5 and 1280"},
      {central + pair + "exploration { alpha_log: 1 }" + end, "exploration",
       "must be a constant alpha with SHAPED_COUNTER"},
      {central + pair +
           "reporting { one_per_decision: true } privacy { epsilon: 1 mechanism: "
           "POOLED_COUNTER }",
       "privacy.delta", "must be above 0 for POOLED_COUNTER"},
  });
}

TEST(ShapedConfigTest, AutoNamesTheShapedCounterWhereItIsPredictedBest) {
  v1::ModelConfig config = ShapedSpec("SHAPED_COUNTER", kBlt).config;
  // Many users who are alike, and a small epsilon: one release serves all.
  config.mutable_privacy()->clear_counter();
  config.mutable_privacy()->set_mechanism(v1::AUTO);
  config.mutable_privacy()->set_epsilon(0.2);
  config.mutable_privacy()->set_planned_events_per_user(100000);
  config.set_reward_min(0);
  config.set_reward_max(1);
  v1::Graph& graph = *config.mutable_colin()->mutable_graph();
  graph.Clear();
  graph.set_kind(v1::Graph::INFLUENCE);
  graph.set_users(10);
  for (std::uint32_t i = 0; i < 10; ++i) {
    for (std::uint32_t j = 0; j < 10; ++j) {
      graph.add_rows(i);
      graph.add_columns(j);
      graph.add_weights(0.1);
    }
  }
  std::vector<ConfigError> errors;
  const auto spec = ParseServedModel(config, "", false, errors);
  ASSERT_TRUE(spec.has_value()) << (errors.empty() ? "" : errors[0].message);
  EXPECT_EQ(spec->public_spec.mechanism, MechanismId::kShapedCounter) << spec->plan;
  EXPECT_EQ(spec->public_spec.counter->horizon, 1'000'000);
  EXPECT_THAT(spec->plan, HasSubstr("AUTO: shaped (blt)"));
}

}  // namespace
}  // namespace bandana::testing

// Paths: which entries a model of each kind takes; and a core, which has the posterior of a server
// that reads the same log.
#include "common/model/state/event_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/model/core.h"
#include "common/model/paths/make_path.h"
#include "server/models/folder/checkpoint.h"
#include "server/models/folder/recovery.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/model_harness.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr char kOnce[] = " reporting { one_per_decision: true }";
constexpr char kWindow[] =
    " reporting { reward_window { duration { seconds: 60 } default_reward: 0.25 } }";
constexpr char kCounter[] =
    " privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER counter { horizon: 100 } }";
constexpr char kGraph[] =
    " colin { graph { users: 2 rows: [0, 1, 0] columns: [0, 1, 1] weights: [1, 1, 0.5] } }";

struct Kind {
  std::string config;
  std::set<std::string> entries;  // that a model of the kind has beside those of all models
};

// Every kind of path with every kind of intake.
std::vector<Kind> Kinds() {
  const std::set<std::string> once = {"outcome"};
  const std::set<std::string> windows = {"decision", "former outcome", "close"};
  const std::set<std::string> fading_once = {"outcome", "fade"};
  const std::set<std::string> fading_windows = {"decision", "former outcome", "close", "fade"};
  const auto with = [](std::set<std::string> all, const char* one) {
    all.insert(one);
    return all;
  };
  const std::string randomizer = " privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }";
  return {
      {absl::StrCat("mode: NON_PRIVATE independent {}", kOnce),
       with(with(fading_once, "user"), "deleted")},
      {absl::StrCat("mode: NON_PRIVATE shared {}", kWindow), with(fading_windows, "shown")},
      {absl::StrCat("mode: NON_PRIVATE", kGraph, kOnce), with(fading_once, "graph")},
      {absl::StrCat("mode: LOCAL_REWARD shared {}", randomizer, kOnce), fading_once},
      {absl::StrCat("mode: LOCAL_REWARD shared {}", kCounter, kOnce), {"counter"}},
      {absl::StrCat("mode: CENTRAL_REWARD shared {}", randomizer, kOnce), fading_once},
      {absl::StrCat("mode: CENTRAL_REWARD shared {}", randomizer, kWindow), fading_windows},
      {absl::StrCat("mode: CENTRAL_REWARD shared {}", kCounter, kOnce), once},
      {absl::StrCat("mode: CENTRAL_REWARD", kGraph,
                    " privacy { epsilon: 2 delta: 1e-6 mechanism: SHAPED_COUNTER"
                    " counter { horizon: 100 } }",
                    kOnce),
       with(once, "shape")},
      {absl::StrCat("mode: JOINT shared {}", kCounter, kWindow), windows},
      {absl::StrCat("mode: JOINT sparse {} privacy { epsilon: 2 delta: 1e-6 }", kOnce), once},
      {absl::StrCat("mode: NON_PRIVATE effects { standard {} }", kOnce), with(once, "freed")},
      {absl::StrCat("mode: LOCAL_CONTEXT shared {} privacy { epsilon: 1 mechanism: PRIVUNIT }",
                    kOnce),
       {"context", "fade"}},
  };
}

std::shared_ptr<const NoiseKey> Key() {
  return std::make_shared<const NoiseKey>(
      *NoiseKey::FromBytes(std::vector<std::byte>(32, std::byte{3})));
}

ModelSpec SpecOfKind(const Kind& kind) {
  return SpecOf(absl::StrCat("name: 'm' dimension: 2 refresh_interval {} ", kind.config));
}

// One entry of each kind, for models with d = 2 and two nodes at most.
std::map<std::string, std::string> Entries() {
  static const std::vector<double> x = {0.5, -0.25};
  static const std::vector<double> root = {1, 0, 0, 1};
  static const std::vector<EffectKey> keys = {UserKey("ann")};
  const EventRecord event{.id = {std::byte{1}}, .epoch = 1, .node = 0, .features = x};
  EventRecord of_user = event;
  of_user.node = -1;
  of_user.user = "ann";
  return {{"decision", Encode(DecisionRecord{.event = event})},
          {"outcome", Encode(OutcomeRecord{.event = event, .reward = 0.5})},
          {"user", Encode(OutcomeRecord{.event = of_user, .reward = 0.5})},
          {"close", Encode(CloseRecord{})},
          {"shown", Encode(ShownRecord{.id = {std::byte{1}}, .features = x})},
          {"report", Encode(ReportRecord{.id = {std::byte{1}}, .reward = 0.5})},
          {"counter", Encode(CounterRecord{.epoch = 1, .node = 0, .step = 1, .moment = x})},
          {"context", Encode(ContextRecord{.epoch = 1, .seed = "0123456789abcdef"})},
          {"shape", Encode(ShapeRecord{.nodes = 2, .root = root})},
          {"graph", Encode(GraphRecord{})},
          {"freed", Encode(FreeRecord{.keys = keys})},
          {"deleted", Encode(DeleteRecord{.users = {{.node = 0}}})},
          {"deletion asked", Encode(DeleteRequest{.ids = {"ann"}})},
          {"opening asked", Encode(OpeningRequest{.decisions = {"one"}})},
          {"fade", Encode(FadeRecord{absl::FromUnixSeconds(1), absl::Hours(32)})}};
}

struct Fresh {
  explicit Fresh(const EventPath& path)
      : sink(path.statistics_dimension(), path.NoStatistics(), 0) {
    EXPECT_THAT(path.Begin(state), IsOk());
  }
  std::string Bytes(const EventPath& path) {
    server::CheckpointSource source{.dimension = 2,
                                    .events_only = path.statistics_dimension() == 0,
                                    .state = &state,
                                    .nodes = sink.nodes()};
    source.statistics = [this](int node) -> const NodeStatistics& { return sink.statistics(node); };
    path.Settle(state);
    return server::EncodeCheckpoint(source);
  }
  ModelState state;
  UserIndex users;
  StatisticsSink sink;
};

// The state machine once drew with a key that the model did not have, because the entry was of a
// kind that its path did not guard against.
TEST(EventPathTest, AnEntryOfAnotherKindOfModelReachesNoState) {
  for (const Kind& kind : Kinds()) {
    SCOPED_TRACE(kind.config);
    const auto path = *MakePath(SpecOfKind(kind), {}, Key());
    for (const auto& [name, record] : Entries()) {
      Fresh fresh(*path);
      const std::string before = fresh.Bytes(*path);
      const absl::Status applied =
          fresh.state.Apply({{1, ChainHash({}, record)}, record}, *path, fresh.users, fresh.sink);
      const bool of_others = absl::StrContains(applied.message(), "in a model that has none");
      const bool outcome = name == "outcome" || name == "user";
      const bool former = outcome && kind.entries.contains("former outcome");
      EXPECT_EQ(absl::IsFailedPrecondition(applied), former) << name << ": " << applied;
      EXPECT_EQ(of_others, !former && !kind.entries.contains(name)) << name << ": " << applied;
      if (!of_others) continue;
      EXPECT_THAT(applied, StatusIs(absl::StatusCode::kDataLoss)) << name;
      EXPECT_EQ(fresh.Bytes(*path), before) << name;
      EXPECT_EQ(fresh.users.size(), 0) << name;
    }
  }
}

// A learner has the parts that its own path needs, for all that the path does with an entry.
TEST(EventPathTest, ALearnerTakesWhatTheStatisticsTake) {
  for (const Kind& kind : Kinds()) {
    SCOPED_TRACE(kind.config);
    const ModelSpec spec = SpecOfKind(kind);
    const auto path = *MakePath(spec, {}, Key());
    for (const auto& [name, record] : Entries()) {
      if (!kind.entries.contains(name)) continue;
      Fresh fresh(*path);
      const auto learner = *path->MakeLearner(spec, fresh.state, path->NoStatistics());
      ModelState state;
      ASSERT_THAT(path->Begin(state), IsOk());
      UserIndex users;
      const LogEntry entry{{1, ChainHash({}, record)}, record};
      const absl::Status bare = fresh.state.Apply(entry, *path, fresh.users, fresh.sink);
      EXPECT_EQ(state.Apply(entry, *path, users, *learner), bare) << name;
      learner->Flush(state);
      ASSERT_EQ(learner->nodes(), fresh.sink.nodes()) << name;
      for (int node = 0; node < learner->nodes(); ++node) {
        EXPECT_EQ(learner->events(node), fresh.sink.events(node)) << name;
        EXPECT_EQ(learner->statistics(node).gram, fresh.sink.statistics(node).gram) << name;
        EXPECT_EQ(learner->statistics(node).moment, fresh.sink.statistics(node).moment) << name;
      }
    }
  }
}

using ModelCoreTest = HostedModelTest;

TEST_F(ModelCoreTest, TheSameLogGivesThePosteriorOfTheServer) {
  options_.noise_key = Key();
  const ModelSpec spec = SpecOf(
      absl::StrCat("name: 'm' dimension: 2 refresh_interval {} mode: CENTRAL_REWARD independent {}",
                   kCounter, kOnce));
  std::shared_ptr<const ServedPosterior> served;
  InstanceId instance{};
  {
    const auto model = Open(spec);
    for (int i = 1; i <= 40; ++i) {
      const Decision decision =
          DecisionOf(*model, clock_, i, {0.6, 0.1 * (i % 7)}, i % 3 == 0 ? "ann" : "bob");
      ASSERT_EQ(CodeOf(ReportOne(*model, decision, 0.1 * (i % 5))), v1::APPLIED);
    }
    WaitApplied(*model);
    served = model->posterior();
    instance = model->instance();
  }
  UserIndex users;
  Counters counters;
  const auto recovered =
      *server::Recover(spec, folder_.path(), {.noise_key = Key()}, users, counters);
  std::vector<LogEntry> entries;
  ASSERT_THAT(recovered.log->Read({}, 1000, entries), IsOk());
  const auto core = *ModelCore::Create(spec, instance, Key());
  const auto appended = *ModelCore::Create(spec, instance, Key());
  for (const LogEntry& entry : entries) {
    ASSERT_THAT(core->Apply(entry), IsOk());
    ASSERT_THAT(appended->Append(entry.record), IsOk());
  }
  ASSERT_THAT(core->Refresh(), IsOk());
  ASSERT_THAT(appended->Refresh(), IsOk());
  EXPECT_EQ(core->position(), entries.back().position);
  EXPECT_EQ(appended->position(), core->position());
  ASSERT_EQ(core->nodes(), 2);
  for (int node = 0; node < 2; ++node) {
    EXPECT_EQ(core->events(node), recovered.statistics[node].events);
    EXPECT_EQ(appended->Posterior(node).mean, core->Posterior(node).mean);
    for (int i = 0; i < 2; ++i) {
      EXPECT_NEAR(core->Posterior(node).mean[i], NodeOf(*served, node).mean[i], 1e-9);
    }
  }
}

}  // namespace
}  // namespace bandana::testing

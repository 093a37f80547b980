// ParseModelConfig: one row for every mistake it can report, and what it makes of right
// configurations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/design/coupling_message.h"
#include "common/design/model_spec.h"
#include "google/protobuf/text_format.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

v1::ModelConfig ConfigOf(const std::string& text) {
  v1::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

std::vector<ConfigError> ErrorsOf(const v1::ModelConfig& config, const std::string& folder = "",
                                  bool allow_files = true) {
  std::vector<ConfigError> errors;
  const auto spec = ParseModelConfig(config, folder, allow_files, errors);
  EXPECT_EQ(spec.has_value(), errors.empty());
  return errors;
}

ModelSpec SpecOf(const std::string& text, const std::string& folder = "") {
  std::vector<ConfigError> errors;
  auto spec = ParseModelConfig(ConfigOf(text), folder, true, errors);
  for (const auto& error : errors) ADD_FAILURE() << error.field << ": " << error.message;
  return spec ? *std::move(spec) : ModelSpec{};
}

constexpr char kPlain[] = "name: 'm' dimension: 3 shared {} mode: NON_PRIVATE ";
constexpr char kLocal[] =
    "name: 'm' dimension: 3 shared {} mode: LOCAL_REWARD reporting { one_per_decision: true } ";
constexpr char kColin[] = "name: 'm' dimension: 3 mode: NON_PRIVATE ";
constexpr char kTriangle[] = "graph { users: 2 rows: 0 columns: 1 weights: 2 } ";

struct Mistake {
  std::string config;
  std::string field;
  std::string message;  // a part of it
};

std::vector<Mistake> ShapeMistakes() {
  const std::string rest = "dimension: 3 shared {} mode: NON_PRIVATE ";
  const std::string plain = kPlain;
  return {
      {rest, "name", "got 0 bytes"},
      {rest + "name: 'Upper'", "name", "lower-case"},
      {rest + "name: '-x'", "name", "not start with a hyphen"},
      {rest + "name: 'a_b'", "name", "lower-case"},
      {rest + "name: '" + std::string(64, 'a') + "'", "name", "1 to 63"},
      {"name: 'm' shared {} mode: NON_PRIVATE", "dimension", "must be in [1, 256], got 0"},
      {"name: 'm' dimension: 257 shared {} mode: NON_PRIVATE", "dimension", "got 257"},
      {plain + "feature_l2_max: -1", "feature_l2_max", "must be in (0, 1e+06], got -1"},
      {plain + "feature_l2_max: nan", "feature_l2_max", "must be in (0, 1e+06]"},
      {plain + "feature_l2_max: 2e6", "feature_l2_max", "must be in (0, 1e+06]"},
      {plain + "reward_min: 1 reward_max: 1", "reward_max", "must be above reward_min = 1"},
      {plain + "reward_min: 1", "reward_max", "must be above reward_min = 1, got 0"},
      {plain + "reward_min: nan reward_max: 1", "reward_min", "must be in"},
      {plain + "reward_max: inf", "reward_max", "must be in"},
      {plain + "reward_min: -1e300 reward_max: 1", "reward_min", "must be in"},
      {plain + "reward_stddev: -1", "reward_stddev", "must be in [1e-15, 1e+06]"},
      {plain + "reward_stddev: nan", "reward_stddev", "must be in [1e-15, 1e+06]"},
      {plain + "reward_stddev: 1e-16", "reward_stddev", "must be in [1e-15, 1e+06]"},
      {plain + "prior_stddev: inf", "prior_stddev", "must be in [1e-15, 1e+06]"},
      {plain + "prior_stddev: 1e-200", "prior_stddev", "must be in [1e-15, 1e+06]"},
      {plain + "exploration { alpha: -0.1 }", "exploration.alpha", "must be in [0, 1e+06]"},
      {plain + "exploration { alpha: nan }", "exploration.alpha", "must be in [0, 1e+06]"},
      {plain + "exploration { alpha_log: -1 }", "exploration.alpha_log", "must be in [0, 1e+06]"},
      {plain + "exploration { confidence { failure_probability: 1 } }",
       "exploration.confidence.failure_probability", "must be in (0, 1), got 1"},
      {plain + "exploration { confidence { theta_l2_max: -1 } }",
       "exploration.confidence.theta_l2_max", "must be in (0, 1e+06]"},
      {plain + "decisions_open_max: 999", "decisions_open_max", "must be in [1000, 1000000000000]"},
      {plain + "arms_max: 1000001", "arms_max", "must be in [1, 1000000]"},
      {plain + "checkpoint { events: 1000000001 }", "checkpoint.events", "must be in [1, "},
      {plain + "checkpoint { interval { nanos: 1 } }", "checkpoint.interval", "must be in [1s, "},
      {plain + "half_life { seconds: 3599 }", "half_life", "must be in [1h, 87600h], got 59m59s"},
      {plain + "half_life { seconds: 315360001 }", "half_life", "must be in [1h, 87600h]"},
      {plain + "half_life {}", "half_life", "must be in [1h, 87600h], got 0"},
      {"name: 'm' dimension: 3 arms {} mode: NON_PRIVATE half_life { seconds: 3600 }", "half_life",
       "is refused for models of arms: their policies are proven for counts of all events"},
      {"name: 'm' dimension: 3 points {} mode: NON_PRIVATE half_life { seconds: 3600 }",
       "half_life", "is refused for models of points: "},
      {"name: 'm' dimension: 3 effects { standard {} } mode: NON_PRIVATE "
       "half_life { seconds: 3600 }",
       "half_life", "is refused for models of effects: "},
      {plain + "token_lifetime { seconds: 0 }", "token_lifetime", "must be in [1s, 720h], got 0"},
      {plain + "token_lifetime { seconds: 2592001 }", "token_lifetime", "must be in [1s, 720h]"},
      {plain + "token_lifetime { seconds: 1 nanos: -1 }", "token_lifetime", "not a valid duration"},
  };
}

std::vector<Mistake> PrivacyMistakes() {
  const std::string plain = kPlain, local = kLocal;
  const std::string eps = local + "privacy { epsilon: 1 ";
  const std::string counter = eps + "delta: 1e-6 mechanism: COUNTER ";
  const std::string central = "name: 'm' dimension: 3 shared {} mode: CENTRAL_REWARD ";
  const std::string silent =
      "name: 'm' dimension: 3 shared {} mode: LOCAL_REWARD privacy { epsilon: 1 } ";
  return {
      {"name: 'm' dimension: 3 shared {}", "mode", "is required"},
      {plain + "privacy { epsilon: 1 }", "privacy", "is refused for mode NON_PRIVATE"},
      {local, "privacy", "is required for mode LOCAL_REWARD"},
      {local + "privacy {}", "privacy.epsilon", "must be in (0, 20]"},
      {local + "privacy { epsilon: -1 }", "privacy.epsilon", "got -1"},
      {local + "privacy { epsilon: nan }", "privacy.epsilon", "must be in (0, 20]"},
      {local + "privacy { epsilon: 20.5 }", "privacy.epsilon", "unless research is true"},
      {local + "privacy { epsilon: 1001 research: true }", "privacy.epsilon", "(0, 1000]"},
      {eps + "delta: -1e-9 }", "privacy.delta", "must be in [0, 0.0001] unless research is true"},
      {eps + "delta: nan }", "privacy.delta", "must be in [0, 0.0001]"},
      {eps + "delta: 1e-3 }", "privacy.delta", "unless research is true"},
      {eps + "delta: 1 research: true }", "privacy.delta", "must be in [0, 1)"},
      {eps + "mechanism: 99 }", "privacy.mechanism",
       "must be one of AUTO, REWARD_RANDOMIZER, CENTRED_RANDOMIZER, COUNTER"},
      {eps + "mechanism: COUNTER }", "privacy.delta", "must be above 0 for COUNTER"},
      {eps + "mechanism: COUNTER delta: nan }", "privacy.delta", "must be in [0, 0.0001]"},
      {eps + "mechanism: REWARD_RANDOMIZER counter {} }", "privacy.counter", "is refused"},
      {counter + "counter { kind: 9 } }", "privacy.counter.kind", "got 9"},
      {counter + "counter { horizon: 1073741825 } }", "privacy.counter.horizon", "[1, 1073741824]"},
      {counter + "counter { horizon: 100 steps_max: 99 } }", "privacy.counter.steps_max",
       "must be in [100, 1073741824], got 99"},
      {counter + "counter { steps_max: 1073741825 } }", "privacy.counter.steps_max", "[10000, "},
      {eps + "counter { kind: 5 } }", "privacy.counter.kind", "BLT, TREE, HONAKER or EPOCHS"},
      {eps + "planned_events_per_user: 1073741825 }", "privacy.planned_events_per_user", "[1, "},
      {counter + "} refresh_interval { seconds: 3601 }", "refresh_interval", "[0, 1h]"},
      {counter + "} half_life { seconds: 3600 }", "half_life",
       "is refused with mechanism COUNTER in mode LOCAL_REWARD: its releases are sums over all "
       "events, from which none can be taken away"},
      {central + "privacy { epsilon: 1 delta: 1e-6 mechanism: COUNTER } half_life { seconds: 3600 }"
                 " reporting { one_per_decision: true }",
       "half_life", "is refused with mechanism COUNTER in mode CENTRAL_REWARD"},
      {"name: 'm' dimension: 3 shared {} mode: JOINT privacy { epsilon: 1 delta: 1e-6 } "
       "reporting { one_per_decision: true } half_life { seconds: 3600 }",
       "half_life", "is refused with mechanism COUNTER in mode JOINT"},
      {"name: 'm' dimension: 3 sparse {} mode: JOINT privacy { epsilon: 1 delta: 1e-6 } "
       "reporting { one_per_decision: true } half_life { seconds: 3600 }",
       "half_life", "is refused for sparse models: "},
      {counter + "} refresh_interval { seconds: -1 }", "refresh_interval", "[0, 1h]"},
      {eps + "} reward_out_of_range: REJECT", "reward_out_of_range", "must be CLIP"},
      {"name: 'm' dimension: 3 shared {} mode: LOCAL_CONTEXT privacy { epsilon: 1 } "
       "reporting { one_per_decision: true } feature_out_of_range: REJECT",
       "feature_out_of_range", "must be CLIP for mode LOCAL_CONTEXT"},
      {central + "privacy { epsilon: 1 } reporting { reward_window { duration { seconds: 1 } "
                 "grace { seconds: 3601 } } }",
       "reporting.reward_window.grace", "must be in [0, 1h]"},
      {central + "privacy { epsilon: 1 } reporting { reward_window { duration { seconds: 60 } } } "
                 "token_lifetime { seconds: 70 }",
       "token_lifetime", "with its grace, 1m17.55s, got 1m10s"},
      {central + "privacy { epsilon: 1 } reporting { one_per_decision: true } "
                 "reward_out_of_range: REJECT",
       "reward_out_of_range", "must be CLIP"},
      {central + "privacy { epsilon: 1 }", "reporting", "is required for a private model"},
      {central + "reporting { one_per_decision: true }", "privacy",
       "is required for mode CENTRAL_REWARD"},
      {silent, "reporting", "is required for a private model"},
      {silent + "reporting {}", "reporting", "is required for a private model"},
      {plain + "reporting { one_per_decision: false }", "reporting.one_per_decision", "true"},
      {plain + "reporting { reward_window {} }", "reporting.reward_window.duration", "is required"},
      {plain + "reporting { reward_window { duration { nanos: 10 } } }",
       "reporting.reward_window.duration", "must be in [1ms, 168h]"},
      {plain + "reporting { reward_window { duration { seconds: 1 } default_reward: 2 } }",
       "reporting.reward_window.default_reward", "must be in [0, 1], got 2"},
      {plain + "reporting { reward_window { duration { seconds: 1 } default_reward: nan } }",
       "reporting.reward_window.default_reward", "must be in [0, 1]"},
      {plain + "reporting { reward_window { duration { seconds: 90000 } } }", "token_lifetime",
       "must be at least the reward window with its grace, 25h, got 24h"},
      {plain + "reporting { reward_window { duration { seconds: 1 } grace { seconds: 1 } } }",
       "reporting.reward_window.grace", "is for modes CENTRAL_REWARD and JOINT"},
  };
}

std::vector<Mistake> CouplingMistakes() {
  const std::string base = kColin, two = kTriangle;
  const auto graph = [&](const std::string& g) { return base + "colin { graph {" + g + "} }"; };
  const auto users = [&](const std::string& u) {
    return base + "colin { " + two + " users {" + u + "} }";
  };
  return {
      {base, "coupling", "is required"},
      {base + "independent { users_max: 1000001 }", "independent.users_max", "must be in [1, "},
      {base + "colin {}", "colin.graph", "users must be in [1, 10000], got 0"},
      {graph("users: 10001"), "colin.graph", "users must be in [1, 10000]"},
      {graph("users: 2 rows: 0 columns: 1"), "colin.graph", "must be equally long"},
      {graph("users: 2 rows: 0 columns: 2 weights: 1"), "colin.graph", "entry 0 at (0, 2)"},
      {graph("users: 2 rows: 0 columns: 1 weights: -1"), "colin.graph", "weights[0]"},
      {graph("users: 2 rows: 0 columns: 1 weights: nan"), "colin.graph", "weights[0]"},
      {graph("users: 2 rows: [0, 1] columns: [1, 0] weights: [1, 2]"), "colin.graph", ""},
      {graph("users: 3 rows: 0 columns: 1 weights: 1"), "colin.graph", "2"},  // degree zero
      {graph("kind: INFLUENCE users: 1 rows: 0 columns: 0 weights: 0.5"), "colin.graph", "1"},
      {graph("file: 'g.mtx' users: 2"), "colin.graph.file", "exclude each other"},
      {graph("file: 'absent.mtx'"), "colin.graph.file", "absent.mtx"},
      {base + "goblin { laplacian_weight: -1 " + two + "}", "goblin.laplacian_weight", "(0, "},
      {base + "goblin { laplacian_weight: nan " + two + "}", "goblin.laplacian_weight", "(0, "},
      {base + "goblin { graph { kind: INFLUENCE users: 1 rows: 0 columns: 0 weights: 1 } }",
       "goblin.graph", "EDGE_WEIGHTS"},
      {users("reject: false"), "colin.users.reject", "must be true"},
      {users("cold_start_node: 2"), "colin.users.cold_start_node", "must be a node in [0, 2)"},
      {users("file: 'absent.tsv'"), "colin.users.file", "absent.tsv"},
      {users("file: 'u.tsv' ids: 'a' nodes: 1"), "colin.users.file", "exclude each other"},
      {users("ids: 'a'"), "colin.users.nodes", "as long as ids = 1, got 0"},
      {users("ids: 'a' nodes: 2"), "colin.users.ids", "entry 0: the node must be in [0, 2)"},
      {users("ids: 'a' ids: 'a' nodes: 0 nodes: 1"), "colin.users.ids", "entry 1"},
      {users("ids: '' nodes: 0"), "colin.users.ids", "1 to 128 bytes"},
  };
}

class EveryMistake : public ::testing::TestWithParam<Mistake> {};

TEST_P(EveryMistake, IsReportedAloneWithItsField) {
  const auto errors = ErrorsOf(ConfigOf(GetParam().config), "/nonexistent");
  ASSERT_THAT(errors, SizeIs(1)) << GetParam().config;
  EXPECT_EQ(errors[0].field, GetParam().field);
  EXPECT_THAT(errors[0].message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(Shape, EveryMistake, ::testing::ValuesIn(ShapeMistakes()));
INSTANTIATE_TEST_SUITE_P(Privacy, EveryMistake, ::testing::ValuesIn(PrivacyMistakes()));
INSTANTIATE_TEST_SUITE_P(Coupling, EveryMistake, ::testing::ValuesIn(CouplingMistakes()));

TEST(ParseModelConfig, ReportsAllMistakesOfOneModel) {
  const auto errors = ErrorsOf(ConfigOf(
      "name: 'BAD' dimension: 0 prior_stddev: -1 mode: LOCAL_REWARD privacy { epsilon: 99 }"));
  std::vector<std::string> fields;
  for (const auto& error : errors) fields.push_back(error.field);
  EXPECT_THAT(fields, ElementsAre("name", "dimension", "coupling", "prior_stddev",
                                  "privacy.epsilon", "reporting"));
}

TEST(ParseModelConfig, RefusesEnumNumbersItDoesNotKnow) {
  v1::ModelConfig config = ConfigOf(std::string(kLocal) + "privacy { epsilon: 1 }");
  config.set_feature_out_of_range(static_cast<v1::OutOfRange>(7));
  config.set_reward_out_of_range(static_cast<v1::OutOfRange>(8));
  config.mutable_privacy()->set_mechanism(static_cast<v1::Mechanism>(99));
  std::vector<std::string> fields;
  for (const auto& error : ErrorsOf(config)) fields.push_back(error.field);
  EXPECT_THAT(fields,
              ElementsAre("feature_out_of_range", "reward_out_of_range", "privacy.mechanism"));
  config = ConfigOf(kPlain);
  config.set_mode(static_cast<v1::Mode>(9));
  EXPECT_EQ(ErrorsOf(config).at(0).field, "mode");
}

TEST(ParseModelConfig, FillsInTheDocumentedDefaults) {
  const ModelSpec spec = SpecOf(kPlain);
  const PublicSpec& out = spec.public_spec;
  EXPECT_EQ(out.name, "m");
  EXPECT_EQ(out.feature_l2_max, 1);
  EXPECT_FALSE(out.reject_features);
  EXPECT_EQ(out.reward_range.min, 0);
  EXPECT_EQ(out.reward_range.max, 1);
  EXPECT_EQ(out.token_lifetime, absl::Hours(24));
  EXPECT_EQ(out.epsilon.value, 0);
  EXPECT_EQ(out.guarantee, "");
  EXPECT_EQ(spec.bandit.dimension, 3);
  EXPECT_EQ(spec.bandit.observation_variance, 1);
  EXPECT_EQ(spec.bandit.prior_variance, 1);
  EXPECT_EQ(spec.bandit.exploration.kind, ExplorationRule::Kind::kConstant);
  EXPECT_EQ(spec.bandit.exploration.alpha, 0.3);
  EXPECT_EQ(spec.decisions_open_max, 100'000'000'000u);
  EXPECT_EQ(spec.arms_max, 100'000);
  EXPECT_EQ(spec.checkpoint_events, 100'000u);
  EXPECT_EQ(spec.checkpoint_interval, absl::Seconds(300));
}

TEST(ParseModelConfig, AlphaZeroIsNotTheDefault) {
  EXPECT_EQ(SpecOf(std::string(kPlain) + "exploration { alpha: 0 }").bandit.exploration.alpha, 0);
}

TEST(ParseModelConfig, ReadsExplorationRules) {
  const auto log =
      SpecOf(std::string(kPlain) + "exploration { alpha_log: 0.1 }").bandit.exploration;
  EXPECT_EQ(log.kind, ExplorationRule::Kind::kLog);
  EXPECT_EQ(log.alpha, 0.1);
  const auto bound = SpecOf(std::string(kPlain) + "exploration { confidence { theta_l2_max: 2 } }")
                         .bandit.exploration;
  EXPECT_EQ(bound.kind, ExplorationRule::Kind::kConfidence);
  EXPECT_EQ(bound.failure_probability, 0.01);
  EXPECT_EQ(bound.theta_l2_max, 2);
}

TEST(ParseModelConfig, AutoIsTheRewardRandomizerAndAddsItsVariance) {
  const ModelSpec spec =
      SpecOf(std::string(kLocal) + "reward_binary: true reward_stddev: 0.5 privacy { epsilon: 2 }");
  const PublicSpec& out = spec.public_spec;
  EXPECT_EQ(out.mechanism, MechanismId::kRewardRandomizer);
  EXPECT_EQ(out.epsilon.value, 2);
  EXPECT_EQ(out.guarantee, "proven");
  EXPECT_EQ(out.unit_of_privacy, "event");
  // Binary randomized response, rewards at the ends of [0, 1]: (1/2)^2 (c^2 - 1), c = coth(eps /
  // 2).
  const double c = 1 / std::tanh(1.0);
  EXPECT_NEAR(spec.bandit.observation_variance, 0.25 + 0.25 * (c * c - 1), 1e-9);
}

TEST(ParseModelConfig, APureMechanismSpendsNoDelta) {
  const ModelSpec spec = SpecOf(std::string(kLocal) + "privacy { epsilon: 1 delta: 1e-5 }");
  EXPECT_EQ(spec.public_spec.delta.value, 0);
}

TEST(ParseModelConfig, ResearchLiftsTheCaps) {
  const ModelSpec spec =
      SpecOf(std::string(kLocal) + "privacy { epsilon: 50 delta: 0.1 research: true }");
  EXPECT_TRUE(spec.public_spec.research);
  EXPECT_EQ(spec.public_spec.epsilon.value, 50);
}

TEST(ParseModelConfig, ReadsGraphAndUsersFilesAndPutsThemInline) {
  const TempDir folder;
  ASSERT_TRUE(WriteFileDurably(folder.File("g.mtx"),
                               "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n"
                               "1 1 1\n2 1 2\n3 2 4\n",
                               0600)
                  .ok());
  ASSERT_TRUE(WriteFileDurably(folder.File("u.tsv"), "ann\t0\r\nbob\t2\n", 0600).ok());
  const ModelSpec spec =
      SpecOf(std::string(kColin) +
                 "goblin { graph { file: 'g.mtx' } users { file: 'u.tsv' cold_start_node: 1 } }",
             folder.path());
  EXPECT_NE(GraphOf(spec.config), nullptr);
  EXPECT_EQ(spec.coupling.nodes(), 3);
  EXPECT_EQ(spec.bandit.nodes_max, 3);
  EXPECT_EQ(spec.users.at("bob"), 2);
  EXPECT_EQ(spec.cold_start_node, 1);
  EXPECT_EQ(spec.config.goblin().graph().file(), "");
  EXPECT_EQ(spec.config.goblin().graph().weights_size(), 5);  // both triangles
  EXPECT_THAT(spec.config.goblin().users().ids(), ElementsAre("ann", "bob"));

  // A stored configuration can be read again without the files.
  std::vector<ConfigError> errors;
  const auto again = ParseModelConfig(spec.config, "", /*allow_files=*/false, errors);
  ASSERT_TRUE(again) << errors.at(0).message;
  EXPECT_EQ(again->users, spec.users);
  EXPECT_EQ(again->coupling.nodes(), 3);
}

TEST(ParseModelConfig, FileMistakesNameTheLine) {
  const TempDir folder;
  ASSERT_TRUE(WriteFileDurably(folder.File("u.tsv"), "ann\t0\nbob\t7\n", 0600).ok());
  ASSERT_TRUE(WriteFileDurably(folder.File("empty"), "", 0600).ok());
  const auto users = ErrorsOf(
      ConfigOf(std::string(kColin) + "colin { " + kTriangle + " users { file: 'u.tsv' } }"),
      folder.path());
  ASSERT_THAT(users, SizeIs(1));
  EXPECT_THAT(users[0].message, HasSubstr("u.tsv: line 2: the node must be in [0, 2), got 7"));
  const auto graph =
      ErrorsOf(ConfigOf(std::string(kColin) + "colin { graph { file: 'empty' } }"), folder.path());
  ASSERT_THAT(graph, SizeIs(1));
  EXPECT_THAT(graph[0].message, HasSubstr("is empty"));
}

TEST(ParseModelConfig, AdminModelsMayNotNameFiles) {
  const auto errors = ErrorsOf(ConfigOf(std::string(kColin) + "colin { " + kTriangle +
                                        " users { file: 'u.tsv' } } arms_file: 'arms.tsv'"),
                               "", /*allow_files=*/false);
  ASSERT_THAT(errors, SizeIs(2));
  EXPECT_EQ(errors[0].field, "colin.users.file");
  EXPECT_EQ(errors[1].field, "arms_file");
}

TEST(ParseModelConfig, ResolvesTheArmsFile) {
  const ModelSpec spec = SpecOf(std::string(kPlain) + "arms_file: 'arms.tsv'", "/etc/bandana");
  EXPECT_EQ(spec.arms_file, "/etc/bandana/arms.tsv");
  EXPECT_EQ(spec.config.arms_file(), "");
}

TEST(MakeCoupling, TakesAReplacementGraphOfAGraphModelOnly) {
  v1::Graph graph;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "users: 2 rows: 0 columns: 1 weights: 5", &graph));
  const auto colin = ConfigOf(std::string(kColin) + "colin { " + kTriangle + "}");
  const auto coupling = MakeCoupling(colin, graph, 3);
  ASSERT_THAT(coupling, testing::IsOk());
  EXPECT_EQ(coupling->nodes(), 2);
  EXPECT_THAT(MakeCoupling(ConfigOf(kPlain), graph, 3),
              StatusIs(absl::StatusCode::kInvalidArgument, "has no graph"));
}

TEST(ModelConfig, CounterTakesItsDefaults) {
  const ModelSpec spec =
      SpecOf(std::string(kLocal) + "privacy { epsilon: 1 delta: 1e-6 mechanism: COUNTER }");
  const PublicSpec& out = spec.public_spec;
  EXPECT_EQ(out.mechanism, MechanismId::kCounter);
  EXPECT_EQ(out.delta, Delta{1e-6});
  ASSERT_TRUE(out.counter.has_value());
  EXPECT_EQ(*out.counter, (CounterSpec{CounterKind::kBlt, 10'000, std::uint64_t{1} << 30}));
  EXPECT_EQ(spec.refresh_interval, absl::Milliseconds(100));
  EXPECT_EQ(spec.bandit.observation_variance, 1);  // the counter's noise is no reward noise
}

TEST(ModelConfig, AutoWithoutPlanTakesTheRandomizerAndSpendsNoDelta) {
  const ModelSpec spec =
      SpecOf(std::string(kLocal) + "privacy { epsilon: 1 delta: 1e-6 counter { horizon: 100 } }");
  EXPECT_EQ(spec.public_spec.mechanism, MechanismId::kRewardRandomizer);
  EXPECT_EQ(spec.public_spec.delta, Delta{0});
  EXPECT_FALSE(spec.public_spec.counter.has_value());
  EXPECT_GT(spec.bandit.observation_variance, 1);
}

TEST(ModelConfig, ModelsOfEventsThatAreReleasedOneByOneMayForget) {
  const std::string rest = "half_life { seconds: 7200 } ";
  EXPECT_EQ(SpecOf(kPlain).half_life, absl::ZeroDuration());
  EXPECT_EQ(SpecOf(kPlain + rest).half_life, absl::Hours(2));
  for (const char* const private_model :
       {"LOCAL_REWARD privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }",
        "LOCAL_REWARD privacy { epsilon: 1 mechanism: CENTRED_RANDOMIZER }",
        "CENTRAL_REWARD privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }",
        "LOCAL_CONTEXT privacy { epsilon: 1 mechanism: PRIVUNIT }",
        "LOCAL_CONTEXT privacy { epsilon: 1 delta: 1e-6 mechanism: JOINT_GAUSSIAN }"}) {
    EXPECT_EQ(SpecOf(absl::StrCat("name: 'm' dimension: 3 shared {} "
                                  "reporting { one_per_decision: true } mode: ",
                                  private_model, rest))
                  .half_life,
              absl::Hours(2))
        << private_model;
  }
}

TEST(ModelConfig, CentralModeTakesBothMechanisms) {
  const std::string central =
      "name: 'm' dimension: 3 shared {} mode: CENTRAL_REWARD reporting { one_per_decision: true } ";
  const ModelSpec counter =
      SpecOf(central +
             "refresh_interval {} privacy { epsilon: 1 delta: 1e-6 mechanism: COUNTER "
             "counter { kind: HONAKER horizon: 7 steps_max: 9 } }");
  EXPECT_EQ(counter.public_spec.mode, Mode::kCentralReward);
  EXPECT_EQ(*counter.public_spec.counter, (CounterSpec{CounterKind::kHonaker, 7, 9}));
  EXPECT_EQ(counter.refresh_interval, absl::ZeroDuration());
  const ModelSpec randomizer =
      SpecOf(central + "privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }");
  EXPECT_GT(randomizer.bandit.observation_variance, 1);
}

}  // namespace
}  // namespace bandana::testing

// Configuration text: every mistake with its line, column and field.
#include "server/ops/config/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/file.h"
#include "server/ops/config/config_summary.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

ConfigResult Parse(const std::string& text, const ConfigOptions& options = {}) {
  ConfigResult result = ParseConfig(text, "/etc/bandana", options);
  EXPECT_EQ(result.spec.has_value(), result.mistakes.empty());
  return result;
}

// `LINE:COLUMN field` of each mistake.
std::vector<std::string> Places(const ConfigResult& result) {
  std::vector<std::string> places;
  for (const ConfigMistake& mistake : result.mistakes) {
    places.push_back(std::to_string(mistake.line) + ":" + std::to_string(mistake.column) + " " +
                     mistake.field);
  }
  return places;
}

constexpr char kModel[] = "models { name: 'm' dimension: 2 shared {} mode: NON_PRIVATE }\n";

TEST(ConfigFile, LimitsOfConnectionsSuitBalancers) {
  const ConfigResult unset = Parse("");
  ASSERT_TRUE(unset.spec.has_value());
  EXPECT_EQ(unset.spec->limits.connections.arrivals_per_second, 256);
  EXPECT_EQ(unset.spec->limits.connections.http_idle, absl::Seconds(75));
  EXPECT_EQ(unset.spec->limits.connections.grpc_idle, absl::InfiniteDuration());
  EXPECT_EQ(unset.spec->limits.connections.keepalive_interval_min, absl::Seconds(10));
  const ConfigResult set = Parse(
      "limits { connections_per_address_per_second_max: 5000 http_idle_timeout { seconds: 700 }\n"
      " grpc_idle_timeout { seconds: 350 } keepalive_interval_min { seconds: 5 } }");
  ASSERT_TRUE(set.spec.has_value());
  EXPECT_EQ(set.spec->limits.connections.arrivals_per_second, 5000);
  EXPECT_EQ(set.spec->limits.connections.http_idle, absl::Seconds(700));
  EXPECT_EQ(set.spec->limits.connections.grpc_idle, absl::Seconds(350));
  EXPECT_EQ(set.spec->limits.connections.keepalive_interval_min, absl::Seconds(5));
}

TEST(ParseConfig, AliasesStandForModelsOfTheFile) {
  const std::string models = std::string(kModel) +
                             "models { name: 'n' dimension: 2 independent {} mode: NON_PRIVATE }\n"
                             "models { name: 'o' dimension: 3 shared {} mode: NON_PRIVATE }\n";
  const ConfigResult result = Parse(
      models + "aliases { name: 'feed' shares { model: 'm' weight: 95 } shares { model: 'n' } }");
  ASSERT_TRUE(result.spec);
  ASSERT_THAT(result.spec->aliases, SizeIs(1));
  const AliasSpec& alias = result.spec->aliases[0];
  EXPECT_TRUE(alias.configured);
  EXPECT_THAT(alias.shares, ElementsAre(AliasShare{"m", 95}, AliasShare{"n", 1}));
  EXPECT_EQ(alias.policy, PolicyUnder(result.spec->models[1].public_spec, "feed"));
  EXPECT_EQ(AliasLine(alias), "alias feed: m:95 n:1");
  EXPECT_THAT(Summary(*result.spec), HasSubstr("alias feed: m:95 n:1\n"));

  const auto mistake = [&](const std::string& aliases) {
    const ConfigResult wrong = Parse(models + aliases);
    EXPECT_THAT(wrong.mistakes, SizeIs(1)) << aliases;
    return wrong.mistakes.empty()
               ? ""
               : wrong.mistakes[0].field + ": " + std::string(wrong.mistakes[0].message);
  };
  EXPECT_THAT(
      mistake("aliases { name: 'feed' shares { model: 'none' } }"),
      HasSubstr("aliases[0].shares[0].model: no model of this configuration is named none"));
  EXPECT_THAT(mistake("aliases { name: 'm' shares { model: 'm' } }"),
              HasSubstr("aliases[0].name: is the name of a model already"));
  EXPECT_THAT(mistake("aliases { name: 'f' shares { model: 'm' } }"
                      "aliases { name: 'f' shares { model: 'm' } }"),
              HasSubstr("aliases[1].name: is the name of aliases[0] already"));
  EXPECT_THAT(mistake("aliases { name: 'f' shares { model: 'm' } shares { model: 'o' } }"),
              HasSubstr("aliases[0].shares: alias f: dimension of model o is not that of model m"));
  EXPECT_THAT(mistake("aliases { name: 'f' }"), HasSubstr("aliases[0].shares: must be 1 to 16"));
}

TEST(ParseConfig, TakesAByteOrderMarkAndRefusesWhatIsNoUtf8) {
  ASSERT_TRUE(Parse("\xEF\xBB\xBF" + std::string(kModel)).spec);
  const ConfigResult latin1 = Parse(std::string(kModel) + "data_dir: 'caf\xE9'");
  EXPECT_THAT(Places(latin1), ElementsAre("2:15 "));
  EXPECT_THAT(latin1.mistakes[0].message, HasSubstr("the byte 0xe9 is no UTF-8"));
  const ConfigResult utf16 = Parse("\xFF\xFEm");
  EXPECT_THAT(Places(utf16), ElementsAre("1:1 "));
  EXPECT_THAT(utf16.mistakes[0].message, HasSubstr("UTF-16"));
  EXPECT_THAT(Places(Parse(std::string("data_dir: 'a\0b'", 16))), ElementsAre("1:13 "));
}

TEST(ParseConfig, AnEmptyFileIsAServerWithDefaults) {
  const ConfigResult result = Parse("");
  ASSERT_TRUE(result.spec);
  EXPECT_EQ(ToString(result.spec->listen), "127.0.0.1:7070");
  EXPECT_EQ(ToString(result.spec->http_listen), "127.0.0.1:7071");
  EXPECT_EQ(result.spec->data_dir, "/etc/bandana/data");
  EXPECT_EQ(result.spec->token_key_file, "/etc/bandana/data/token_keys");
  EXPECT_EQ(result.spec->token_rotation_interval, absl::Hours(24));
  EXPECT_EQ(result.spec->drain_delay, absl::ZeroDuration());
  EXPECT_EQ(result.spec->limits.calls_in_flight_max, 128);
  EXPECT_EQ(result.spec->limits.arms_per_request_max, 1000);
  EXPECT_EQ(result.spec->limits.batch_decisions_max, 64);
  EXPECT_EQ(result.spec->limits.models_max, 100);
  EXPECT_EQ(result.spec->limits.watches_max, 64);
  EXPECT_EQ(result.spec->limits.connections.connections_max, 4096);
  EXPECT_EQ(result.spec->limits.connections.per_group_max, 0);  // half of them
  EXPECT_EQ(result.spec->limits.connections.offences_per_second, 20);
  EXPECT_TRUE(result.spec->limits.connections.close_floods);
}

TEST(ParseConfig, FlagsReplaceTheFilesValues) {
  const ConfigResult result =
      Parse("listen: 'nonsense' data_dir: 'd'",
            {.listen = "127.0.0.1:0", .http_listen = "[::1]:1", .data_dir = "here"});
  ASSERT_TRUE(result.spec);
  EXPECT_EQ(ToString(result.spec->listen), "127.0.0.1:0");
  EXPECT_EQ(ToString(result.spec->http_listen), "[::1]:1");
  EXPECT_EQ(result.spec->data_dir, "here");
}

TEST(ParseConfig, FlagsSayWhereOtherServersReachThisOne) {
  static constexpr char kLog[] = "log { postgresql { connection: 'host=h' key_file: 'k' } } ";
  const ConfigOptions flags = {.peers_listen = "127.0.0.1:0", .peers_address = "b.example:74"};
  const ConfigResult result = Parse(kLog, flags);
  ASSERT_TRUE(result.spec);
  ASSERT_TRUE(result.spec->peers);
  EXPECT_EQ(ToString(result.spec->peers->listen), "127.0.0.1:0");
  EXPECT_EQ(result.spec->peers->address, "b.example:74");
  EXPECT_EQ(result.spec->peers->key_file, "/etc/bandana/k");
  EXPECT_TRUE(Parse(std::string(kLog) + "peers { listen: 'nonsense' address: 'too' }", flags).spec);
  const auto mistake = [](const ConfigOptions& options) {
    return Parse(kLog, options).mistakes.front().field;
  };
  EXPECT_EQ(mistake({.peers_address = "b.example:74"}), "--peers_address");
  EXPECT_EQ(mistake({.peers_listen = "7074"}), "--peers_listen");
  EXPECT_EQ(mistake({.peers_listen = "127.0.0.1:0", .peers_address = "b"}), "--peers_address");
  EXPECT_FALSE(Parse(kModel).spec->peers);
}

// The key of users' pseudonyms is one per database, and must not lie there in clear.
TEST(ParseConfig, ADecisionLogInADatabaseNeedsAKeyFile) {
  const std::string model =
      "models { name: 'm' dimension: 2 shared {} mode: NON_PRIVATE decision_log {} } ";
  const ConfigResult open = Parse(model + "log { postgresql { connection: 'host=h' } }");
  ASSERT_EQ(open.mistakes.size(), 1u);
  EXPECT_EQ(open.mistakes.front().field, "log.postgresql.key_file");
  EXPECT_THAT(open.mistakes.front().message, ::testing::HasSubstr("decision_log, as m"));
  EXPECT_TRUE(Parse(model + "log { postgresql { connection: 'host=h' key_file: 'k' } }").spec);
  EXPECT_TRUE(Parse(model).spec);
}

TEST(ParseConfig, LocatesMistakesInsideModels) {
  const ConfigResult result = Parse(std::string(kModel) +
                                    "models {\n"
                                    "  name: 'local'\n"
                                    "  dimension: 300\n"
                                    "  colin {\n"
                                    "    graph { users: 2\n"
                                    "            rows: 0 columns: 1 weights: -1 }\n"
                                    "  }\n"
                                    "  mode: LOCAL_REWARD\n"
                                    "  privacy {\n"
                                    "    epsilon: 25\n"
                                    "    delta: nan\n"
                                    "  }\n"
                                    "}\n");
  EXPECT_THAT(Places(result),
              ElementsAre("4:3 models[1].dimension", "6:5 models[1].colin.graph",
                          "11:5 models[1].privacy.epsilon", "12:5 models[1].privacy.delta",
                          // Missing: at the model's own place, and last.
                          "2:1 models[1].reporting"));
  EXPECT_EQ(ToString("s.textproto", result.mistakes[2]),
            "s.textproto:11:5: models[1].privacy.epsilon: must be in (0, 20] unless research is "
            "true, got 25");
}

TEST(ParseConfig, GoesOnAfterUnknownFieldsAndWrongValues) {
  const ConfigResult result = Parse(
      "listne: '127.0.0.1:1'\n"
      "models {\n"
      "  name: 'm'\n"
      "  dimension: 'two'\n"
      "  shared {}\n"
      "  mode: PRIVATE\n"
      "  reward_stddev: -1\n"
      "}\n"
      "drain_delay { seconds: 61 }\n");
  EXPECT_THAT(Places(result), ElementsAre("1:1 ", "4:14 ", "6:9 ", "7:3 models[0].reward_stddev",
                                          "9:1 drain_delay"));
  EXPECT_THAT(result.mistakes[0].message, HasSubstr("listne"));
  EXPECT_THAT(result.mistakes[1].message, HasSubstr("Expected integer"));
  EXPECT_THAT(result.mistakes[2].message, HasSubstr("PRIVATE"));
}

// The coupling is missing because its name is mistyped: the cause comes first.
TEST(ParseConfig, SaysWhatMistypedWordsMayMean) {
  const ConfigResult result = Parse(
      "models {\n"
      "  name: 'm'\n"
      "  dimension: 2\n"
      "  mode: NON_PRIVTE\n"
      "  reward_mni: 0\n"
      "  efects { standard {} }\n"
      "  zebra: 1\n"
      "}\n");
  EXPECT_THAT(Places(result),
              ElementsAre("4:9 ", "5:3 ", "6:3 ", "7:3 ", "1:1 models[0].coupling"));
  EXPECT_THAT(result.mistakes[0].message,
              HasSubstr("\"NON_PRIVTE\" for field \"mode\": did you mean NON_PRIVATE?"));
  EXPECT_THAT(result.mistakes[1].message,
              HasSubstr("no field named \"reward_mni\": did you mean reward_min?"));
  EXPECT_THAT(result.mistakes[2].message,
              HasSubstr("no field named \"efects\": did you mean effects?"));
  EXPECT_THAT(result.mistakes[3].message, Not(HasSubstr("did you mean")));
  EXPECT_THAT(result.mistakes[4].message, HasSubstr("is required"));
}

TEST(ParseConfig, AWrongValueDoesNotShiftThePlacesOfOthers) {
  const ConfigResult result = Parse(std::string(kModel) +
                                    "models { name: 'b'\n  dimension: x\n  shared {}\n"
                                    "  mode: NON_PRIVATE\n  arms_max: 2000000\n}\n");
  ASSERT_THAT(result.mistakes, SizeIs(2));
  EXPECT_EQ(result.mistakes[0].line, 3);
  EXPECT_EQ(result.mistakes[1].field, "models[1].arms_max");
  EXPECT_EQ(result.mistakes[1].line, 6);
}

TEST(ParseConfig, StopsAtALineThatOpensABracket) {
  const ConfigResult result = Parse("models { dimension: x\n  name: 'm'\n}\nlisten: 'nonsense'\n");
  ASSERT_THAT(result.mistakes, SizeIs(1));
  EXPECT_EQ(result.mistakes[0].line, 1);
}

TEST(ParseConfig, TextThatIsNoConfigurationIsAMistakeNotACrash) {
  for (const std::string text : {"{", "}", "models {", "\"", "\xff\xfe", "models: 7", "a: b: c",
                                 "models { name: \"m", "1", "models { shared { x } }"}) {
    EXPECT_THAT(Parse(text).mistakes, Not(SizeIs(0))) << text;
  }
  EXPECT_THAT(Parse(std::string(1000, '{')).mistakes, Not(SizeIs(0)));
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "dimension: x\n";
  EXPECT_THAT(Parse("models {\n" + deep + "}\n").mistakes, Not(SizeIs(0)));
}

TEST(ParseConfig, ReportsServerLevelMistakes) {
  struct Row {
    std::string text;
    std::string field;
    std::string message;
  };
  const std::vector<Row> rows = {
      {"listen: '127.0.0.1'", "listen", "must be host:port"},
      {"listen: '127.0.0.1:99999'", "listen", "port in [0, 65535]"},
      {"listen: '127.0.0.1:'", "listen", "port in [0, 65535]"},
      {"listen: ':70'", "listen", "must be host:port"},
      {"listen: '::1:70'", "listen", "brackets"},
      {"listen: '0.0.0.0:70'", "listen", "not a loopback address"},
      {"listen: 'example.org:70'", "listen", "not a loopback address"},
      {"http_listen: '[::]:70'", "http_listen", "not a loopback address"},
      {"limits { calls_in_flight_max: 4097 }", "limits.calls_in_flight_max", "[1, 4096]"},
      {"limits { arms_per_request_max: 1000001 }", "limits.arms_per_request_max", "[1, 1000000]"},
      {"limits { batch_decisions_max: 65 }", "limits.batch_decisions_max", "[1, 64]"},
      {"limits { models_max: 1001 }", "limits.models_max", "[1, 1000]"},
      {"limits { watches_max: 1025 }", "limits.watches_max", "[1, 1024]"},
      {"limits { connections_max: 15 }", "limits.connections_max", "[16, 65536]"},
      {"limits { connections_per_address_max: 65537 }", "limits.connections_per_address_max",
       "[1, 65536]"},
      {"limits { refusals_per_connection_max: 0.5 }", "limits.refusals_per_connection_max",
       "must be in [1, 1e+06], got 0.5"},
      {"limits { refusals_per_connection_max: nan }", "limits.refusals_per_connection_max",
       "must be in"},
      {"limits { connections_per_address_per_second_max: 1000001 }",
       "limits.connections_per_address_per_second_max", "[1, 1000000]"},
      {"limits { http_idle_timeout { nanos: 1 } }", "limits.http_idle_timeout", "[1s, 1h]"},
      {"limits { grpc_idle_timeout { seconds: 86401 } }", "limits.grpc_idle_timeout", "[1s, 24h]"},
      {"limits { keepalive_interval_min { } }", "limits.keepalive_interval_min", "[1s, 1h]"},
      {"tokens { rotation_interval { seconds: 60 } }", "tokens.rotation_interval", "[1h, 720h]"},
      {"drain_delay { seconds: -1 }", "drain_delay", "[0, 1m]"},
      {std::string(kModel) + kModel, "models[1].name", "is the name of models[0] already"},
  };
  for (const Row& row : rows) {
    const ConfigResult result = Parse(row.text);
    ASSERT_THAT(result.mistakes, SizeIs(1)) << row.text;
    EXPECT_EQ(result.mistakes[0].field, row.field);
    EXPECT_THAT(result.mistakes[0].message, HasSubstr(row.message));
  }
}

TEST(ParseConfig, FlagMistakesNameTheFlag) {
  const ConfigResult result = Parse("", {.listen = "0.0.0.0:1"});
  ASSERT_THAT(result.mistakes, SizeIs(1));
  EXPECT_EQ(result.mistakes[0].field, "--listen");
  EXPECT_THAT(ToString("f", result.mistakes[0]), HasSubstr("f: --listen: 0.0.0.0:1 is not"));
}

TEST(ParseConfig, InsecureAddressesMustBeAskedFor) {
  EXPECT_TRUE(
      Parse("listen: '0.0.0.0:70' http_listen: '0.0.0.0:71' insecure_non_loopback: true").spec);
  EXPECT_TRUE(Parse("listen: '127.1.2.3:70' http_listen: 'localhost:71'").spec);
}

TEST(ParseConfig, KeysLiveAsLongAsTokens) {
  const std::string model =
      "models { name: 'm' dimension: 2 shared {} mode: NON_PRIVATE "
      "token_lifetime { seconds: 172800 } }\n";
  EXPECT_EQ(Parse(model).spec->token_rotation_interval, absl::Hours(48));
  const ConfigResult result = Parse(model + "tokens { rotation_interval { seconds: 86400 } }");
  ASSERT_THAT(result.mistakes, SizeIs(1));
  EXPECT_THAT(result.mistakes[0].message, HasSubstr("longest token_lifetime of a model, 48h"));
}

TEST(ParseConfig, RefusesMoreModelsThanTheLimit) {
  const ConfigResult result =
      Parse(std::string("limits { models_max: 1 }\n") + kModel +
            "models { name: 'n' dimension: 2 shared {} mode: NON_PRIVATE }\n");
  ASSERT_THAT(result.mistakes, SizeIs(1));
  EXPECT_EQ(result.mistakes[0].field, "models");
  EXPECT_EQ(result.mistakes[0].line, 2);
}

TEST(LoadConfig, ResolvesFilesAgainstItsFolderAndBoundsItsSize) {
  const TempDir folder;
  ASSERT_THAT(
      WriteFileDurably(folder.File("g.mtx"),
                       "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 1\n", 0600),
      IsOk());
  ASSERT_THAT(WriteFileDurably(folder.File("s.textproto"),
                               "data_dir: 'd'\n"
                               "models { name: 'm' dimension: 2 mode: NON_PRIVATE\n"
                               "  colin { graph { file: 'g.mtx' } } }\n",
                               0600),
              IsOk());
  const auto result = LoadConfig(folder.File("s.textproto"), {});
  ASSERT_THAT(result, IsOk());
  ASSERT_TRUE(result->spec);
  EXPECT_EQ(result->spec->data_dir, folder.File("d"));
  EXPECT_EQ(result->spec->models[0].coupling.nodes(), 2);

  EXPECT_THAT(LoadConfig(folder.File("absent"), {}), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_THAT(WriteFileDurably(folder.File("big"), std::string((16 << 20) + 1, '#'), 0600), IsOk());
  EXPECT_THAT(LoadConfig(folder.File("big"), {}), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(LoadConfig, ReadsArmsFilesOnlyWhenAsked) {
  const TempDir folder;
  ASSERT_THAT(WriteFileDurably(folder.File("arms.tsv"), "1\t-\t1 0\n2\t-\t1\n", 0600), IsOk());
  const std::string text =
      "models { name: 'm' dimension: 2 shared {} mode: NON_PRIVATE\n  arms_file: 'arms.tsv' }\n";
  EXPECT_TRUE(ParseConfig(text, folder.path(), {}).spec);
  const ConfigResult checked = ParseConfig(text, folder.path(), {.check_model_files = true});
  ASSERT_THAT(checked.mistakes, SizeIs(1));
  EXPECT_EQ(checked.mistakes[0].field, "models[0].arms_file");
  EXPECT_EQ(checked.mistakes[0].line, 2);
  EXPECT_THAT(checked.mistakes[0].message, HasSubstr("arms.tsv: line 2"));
  const ConfigResult absent = ParseConfig(text, "/nonexistent", {.check_model_files = true});
  ASSERT_THAT(absent.mistakes, SizeIs(1));
  EXPECT_THAT(absent.mistakes[0].message, HasSubstr("/nonexistent/arms.tsv"));
}

TEST(LoadConfig, ReadsUsersFilesOfEffectsOnlyWhenAsked) {
  const TempDir folder;
  const std::string text =
      "models { name: 'm' dimension: 2 mode: NON_PRIVATE\n"
      "  effects { standard {} user_groups: 'plan' users_max: 2 users_file: 'users.tsv' } }\n";
  const auto mistake = [&](std::string_view users) -> std::string {
    EXPECT_THAT(WriteFileDurably(folder.File("users.tsv"), users, 0600), IsOk());
    EXPECT_TRUE(ParseConfig(text, folder.path(), {}).spec);
    const ConfigResult checked = ParseConfig(text, folder.path(), {.check_model_files = true});
    if (checked.mistakes.empty()) return "";
    EXPECT_THAT(checked.mistakes, SizeIs(1));
    EXPECT_EQ(checked.mistakes[0].field, "models[0].effects.users_file");
    EXPECT_EQ(checked.mistakes[0].line, 2);
    return checked.mistakes[0].message;
  };
  EXPECT_EQ(mistake("user\tplan\na\tx\nb\t-\n"), "");
  EXPECT_THAT(mistake("user\tplan\na\n"), HasSubstr("users.tsv: line 2"));
  EXPECT_THAT(mistake("user\tcity\na\tx\n"), HasSubstr("group city is not one of user_groups"));
  EXPECT_THAT(mistake("user\tplan\na\tx\nb\tx\nc\tx\n"), HasSubstr("users_max = 2"));
}

TEST(Summary, SaysWhatEachModelPromisesAndWhy) {
  const ConfigResult result =
      Parse(std::string(kModel) +
            "models { name: 'local' dimension: 2 shared {} mode: LOCAL_REWARD reward_binary: true\n"
            "  reporting { one_per_decision: true } privacy { epsilon: 30 delta: 1e-5 research: "
            "true } }");
  ASSERT_TRUE(result.spec);
  const std::string summary = Summary(*result.spec);
  EXPECT_THAT(summary, HasSubstr("model m\n  mode       NON_PRIVATE"));
  EXPECT_THAT(summary, HasSubstr("REWARD_RANDOMIZER, randomized response on binary rewards"));
  EXPECT_THAT(summary, HasSubstr("AUTO: randomizer (one bit)"));
  EXPECT_THAT(summary, HasSubstr("delta 1e-05 allowed, 0 used: the mechanism is pure"));
  EXPECT_THAT(summary, HasSubstr("epsilon 30, delta 0 per event, guarantee proven"));
  EXPECT_THAT(summary, HasSubstr("WARNING    research: true"));
  EXPECT_EQ(Warning(result.spec->models[0]), "");
}

TEST(Summary, SaysWhatGroupsOfAPrivateModelMustNotBe) {
  const std::string effects = "dimension: 2 effects { standard {} user_groups: 'plan' } mode: ";
  const ConfigResult result =
      Parse("models { name: 'a' " + effects + "NON_PRIVATE }\nmodels { name: 'b' " + effects +
            "LOCAL_REWARD reporting { one_per_decision: true } privacy { epsilon: 1 } }");
  ASSERT_TRUE(result.spec);
  const std::string summary = Summary(*result.spec);
  const std::size_t note = summary.find("must not be computed from private reactions");
  ASSERT_NE(note, std::string::npos);
  EXPECT_GT(note, summary.find("model b\n"));
  EXPECT_EQ(summary.find("private reactions", note + 50), std::string::npos);
}

TEST(Summary, SaysWhatReportsThatLeaveAtStartsNeed) {
  const auto summary = [](const std::string& mode, int token_hours) {
    const ConfigResult result =
        Parse("models { name: 'm' dimension: 2 shared {} mode: " + mode +
              " token_lifetime { seconds: " + std::to_string(3600 * token_hours) +
              " } reporting { reward_window { duration { seconds: 3600 } default_reward: 0 } } }");
    EXPECT_TRUE(result.spec);
    return result.spec ? Summary(*result.spec) : "";
  };
  const std::string local = "LOCAL_REWARD privacy { epsilon: 2 }";
  EXPECT_THAT(
      summary(local, 25),
      HasSubstr("    leave    Leave::kAtStart: the window must outlast what a reaction does "
                "to the process\n"
                "    leave    token_lifetime 25h is enough: the window and a day to the "
                "next start are 25h\n"));
  EXPECT_THAT(
      summary(local, 24),
      HasSubstr("    leave    token_lifetime 24h is SHORT: the window and a day to the next "
                "start are 25h\n"));
  EXPECT_THAT(summary("NON_PRIVATE", 24), Not(HasSubstr("leave")));
}

TEST(Summary, NamesTheFamiliesWithoutFeatures) {
  const ConfigResult result = Parse(
      "models { name: 'a' dimension: 3 arms { policy: KL_UCB } mode: NON_PRIVATE }\n"
      "models { name: 'b' dimension: 2 points { domain: BOX radius: 0.5 horizon: 900 }\n"
      "  mode: LOCAL_REWARD reporting { one_per_decision: true } privacy { epsilon: 1 } }");
  ASSERT_TRUE(result.spec);
  const std::string summary = Summary(*result.spec);
  EXPECT_THAT(summary, HasSubstr("coupling   3 arms without features, KL_UCB\n"));
  EXPECT_THAT(summary, HasSubstr("coupling   points of a box of radius 0.5, rewards' smoothness 1, "
                                 "steps tuned to 900\n"));
  EXPECT_THAT(summary, HasSubstr("features   none: the server draws the point, 2 numbers\n"));
  EXPECT_THAT(summary, HasSubstr("REWARD_RANDOMIZER"));
  EXPECT_THAT(ModelLine(result.spec->models[1]), HasSubstr("points of a box"));
}

TEST(Summary, SaysWhatALogisticModelReports) {
  const ConfigResult result = Parse(
      "models { name: 'm' dimension: 4 shared {} mode: LOCAL_CONTEXT link: LOGISTIC\n"
      "  prior_stddev: 2 reporting { one_per_decision: true } privacy { epsilon: 2 } }");
  ASSERT_TRUE(result.spec);
  const std::string summary = Summary(*result.spec);
  EXPECT_THAT(summary, HasSubstr("PRIVUNIT on the device of straightened events"));
  EXPECT_THAT(summary, HasSubstr("|theta| up to 4 weighed"));
  EXPECT_THAT(summary, HasSubstr("[0, 1] (clip), expected 1 / (1 + e^-z) of z = x . theta"));
}

}  // namespace
}  // namespace bandana::server

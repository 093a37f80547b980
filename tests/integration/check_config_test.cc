// --check_config and a start give one verdict, over a table of odd configurations. Both run here,
// in this process, by the functions that the program calls.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bandana/v1/config.pb.h"
#include "common/base/file.h"
#include "server/ops/config/config_file.h"
#include "server/ops/log_setup.h"
#include "server/ops/server.h"
#include "server/ops/trial.h"
#include "tests/support/http_request.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

// A model of each family and mode.
constexpr const char* kBases[] = {
    "dimension: 3 shared {} mode: NON_PRIVATE",
    "dimension: 2 independent { users_max: 9 } mode: LOCAL_REWARD privacy { epsilon: 2 }",
    "dimension: 2 colin { graph { kind: INFLUENCE users: 2 rows: 0 columns: 0 weights: 1 rows: 1 "
    "columns: 1 weights: 1 } users { ids: 'ann' ids: 'bea' nodes: 0 nodes: 1 } } mode: NON_PRIVATE",
    "dimension: 2 goblin { graph { users: 3 rows: 0 columns: 1 weights: 1 } users { "
    "cold_start_node: "
    "0 } } mode: NON_PRIVATE",
    "dimension: 2 effects { standard {} user_groups: 'plan' } mode: LOCAL_REWARD reward_binary: "
    "true "
    "privacy { epsilon: 1 }",
    "dimension: 2 shared {} mode: LOCAL_CONTEXT privacy { epsilon: 1 } reporting { "
    "one_per_decision: true }",
    "dimension: 2 independent { users_max: 9 } mode: CENTRAL_REWARD privacy { epsilon: 1 delta: "
    "1e-6 "
    "mechanism: COUNTER } reporting { one_per_decision: true }",
    "arms { policy: TSALLIS_INF } dimension: 3 mode: NON_PRIVATE",
    "points { domain: BALL } dimension: 2 mode: NON_PRIVATE",
};

// Put into each of them, in place of what they say there.
constexpr const char* kOdd[] = {
    "reward_stddev: 1e-16",
    "reward_stddev: 1e-9",
    "reward_stddev: 1e6",
    "reward_stddev: 1e-300",
    "reward_stddev: -1",
    "reward_stddev: nan",
    "prior_stddev: 1e-16",
    "prior_stddev: 1e-8",
    "prior_stddev: 1e6",
    "prior_stddev: 1e300",
    "reward_stddev: 1e-6 prior_stddev: 1e6",
    "reward_stddev: 1e6 prior_stddev: 1e-6",
    "feature_l2_max: 1e-12",
    "feature_l2_max: 1e6",
    "feature_l2_max: 1e-300",
    "reward_min: -1e9 reward_max: 1e9",
    "reward_min: 0 reward_max: 1e-12",
    "reward_min: 1 reward_max: 0",
    "dimension: 256",
    "dimension: 257",
    "dimension: 1",
    "arms_max: 1",
    "arms_file: 'none.tsv'",
    "arms_file: 'two.tsv'",
    "arms_file: 'two.tsv' arms_max: 1",
    "arms_file: 'latin1.tsv'",
    "arms_file: 'marked.tsv'",
    "arms_file: 'long.tsv' feature_out_of_range: REJECT",
    "arms_file: 'names.tsv'",
    "arms_file: 'groups.tsv'",
    "half_life { nanos: 1 }",
    "half_life { seconds: 3600 }",
    "decisions_open_max: 1",
    "refresh_interval { nanos: 1 }",
    "checkpoint { events: 1 interval { seconds: 1 } }",
    "policy { softmax { temperature: 1e-300 } }",
    "policy { thompson { draws: 1000 } }",
    "token_lifetime { seconds: 100000 }",
};

// Odd settings of the server itself.
constexpr const char* kOddServers[] = {
    "data_dir: 'a_file'",
    "data_dir: 'a_file/inside'",
    "data_dir: 'models_are_a_file'",
    "data_dir: 'old_noise'",
    "data_dir: 'not/yet/there'",
    "tokens { key_file: 'none/keys' }",
    "tokens { key_file: 'open_keys' }",
    "tokens { key_file: 'broken_keys' }",
    "tokens { key_file: 'new_keys' }",
    "checkpoint_key_file: 'none'",
    "checkpoint_key_file: 'broken_keys'",
    "checkpoint_key_file: 'seal'",
    "limits { connections_max: 1000000000 }",
    "limits { models_max: 1000 }",
    "limits { models_max: 1001 }",
    "limits { connections_max: 1 }",
    "listen: '127.0.0.1:99999'",
    "listen: '0.0.0.0:0'",
    "listen: '127.0.0.1:47070' http_listen: '127.0.0.1:47070'",
    "listen: '127.0.0.1:47070' http_listen: 'localhost:47070'",
    "listen: '127.0.0.1:47070' api_listen: '0.0.0.0:47070' insecure_non_loopback: true",
    "http_listen: '[::1]:47070' api_listen: '[::]:47070' insecure_non_loopback: true",
    "http_listen: '127.0.0.1:47070' admin_listen: '[::]:47070' insecure_non_loopback: true",
    "admin_listen: '127.0.0.1:47070' api_listen: '127.0.0.1:47070'",
    "api_listen: '127.0.0.1:0' api { threads: 64 }",
    "api_listen: '127.0.0.1:0' api { threads: 65 }",
    "access { generate_token: true }",
    "access {}",
    "access { jwt_issuers { issuer: 'i' audience: 'a' keys_file: 'none' roles: ROLE_SELECT } }",
    "access { jwt_issuers { issuer: 'i' audience: 'a' keys_file: 'odd_jwks' roles: ROLE_SELECT } }",
    "access { jwt_issuers { issuer: 'i' audience: 'a' keys_file: 'no_jwks' roles: ROLE_SELECT } }",
    "tls { certificate_file: 'none' private_key_file: 'none' }",
    "tls { certificate_file: 'two.tsv' private_key_file: 'seal' }",
    "aliases { name: 'feed' shares { model: 'm' } }",
    "aliases { name: 'm' shares { model: 'm' } }",
    "aliases { name: 'feed' shares { model: 'none' } }",
    "models { name: 'm' dimension: 2 shared {} mode: NON_PRIVATE }",
    "models { name: 'n' dimension: 2 shared {} mode: NON_PRIVATE prior_stddev: 1e-16 }",
    "models { name: 'n' dimension: 2 shared {} mode: NON_PRIVATE }",
};

// A configuration whose model `m` is the base with what is odd in its place.
std::string ConfigOf(const std::string& base, const std::string& odd,
                     const std::string& server = "") {
  v1::ModelConfig model;
  google::protobuf::TextFormat::Parser parser;
  EXPECT_TRUE(parser.MergeFromString(base, &model)) << base;
  EXPECT_TRUE(parser.MergeFromString(odd, &model)) << odd;
  model.set_name("m");
  v1::ServerConfig config;
  config.set_listen("127.0.0.1:0");
  config.set_http_listen("127.0.0.1:0");
  config.set_data_dir("data");
  *config.add_models() = model;
  EXPECT_TRUE(parser.MergeFromString(server, &config)) << server;
  return config.DebugString();
}

// A folder with the files that the tables name.
class Place {
 public:
  Place() {
    Put("a_file", "");
    Put("two.tsv", "7\t-\t0.1 0.2\n8\tx\t0.3 0.1\n");
    Put("latin1.tsv", "7\tcaf\xE9\t0.1 0.2\n");
    Put("marked.tsv", "\xEF\xBB\xBFid\ttags\tfeatures\n7\t-\t0.1 0.2\n");
    Put("long.tsv", "7\t-\t10 20\n");
    Put("names.tsv", "7\t-\t0.1 0.2\t-\ta\n8\t-\t0.1 0.2\t-\ta\n");
    Put("groups.tsv", "7\t-\t0.1 0.2\tgenre=rock\n");
    Put("broken_keys", "keys\n");
    Put("open_keys", "keys\n", 0644);
    Put("seal", std::string(64, 'a') + "\n");
    Put("odd_jwks",
        R"({"keys":[{"kty":"OKP","crv":"Ed25519"},{"kty":"OKP","crv":"Ed25519","kid":"k",)"
        R"("x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]})");
    Put("no_jwks", R"({"keys":[{"kty":"OKP","crv":"Ed25519"}]})");
    mkdir(folder_.File("models_are_a_file").c_str(), 0700);
    Put("models_are_a_file/models", "");
    mkdir(folder_.File("old_noise").c_str(), 0700);
    Put("old_noise/noise_key", "not one");
  }

  // The mistakes, with nothing for a configuration that --check_config takes.
  std::vector<std::string> Check(const std::string& text) const {
    ConfigOptions options{.check_model_files = true};
    options.try_out = [](const ServerSpec& spec, std::vector<ConfigError>& errors) {
      TryStart(spec, SystemClock(), errors);
    };
    std::vector<std::string> mistakes;
    for (const ConfigMistake& mistake : ParseConfig(text, folder_.path(), options).mistakes) {
      mistakes.push_back(ToString("f", mistake));
    }
    return mistakes;
  }

  // Why a start serves not all that the configuration names; empty where it does.
  std::vector<std::string> Start(const std::string& text) {
    ConfigResult result = ParseConfig(text, folder_.path(), {});
    std::vector<std::string> mistakes;
    for (const ConfigMistake& mistake : result.mistakes) mistakes.push_back(ToString("f", mistake));
    if (!result.spec) return mistakes;
    const auto server = Server::Start(*std::move(result.spec), SystemClock(), [](auto) {});
    if (!server.ok()) return {std::string(server.status().message())};
    const testing::HttpResult ready = testing::HttpRequest((*server)->http_listen(), "/readyz");
    if (ready.status != 200) mistakes.push_back(ready.body);
    return mistakes;
  }

  // Both; the data folder that the start makes is gone afterwards. Whether it was taken.
  bool ExpectOneVerdict(const std::string& text) {
    const std::string before = Listing();
    const std::vector<std::string> checked = Check(text);
    EXPECT_EQ(Listing(), before) << "the check left something behind\n" << text;
    const std::vector<std::string> started = Start(text);
    EXPECT_EQ(checked.empty(), started.empty())
        << text << "checked: " << absl::StrJoin(checked, "\n")
        << "\nstarted: " << absl::StrJoin(started, "\n");
    for (const char* made : {"data", "not", "new_keys"}) {
      std::filesystem::remove_all(folder_.File(made));
    }
    return started.empty();
  }

  const std::string& path() const { return folder_.path(); }

 private:
  void Put(const std::string& name, std::string_view content, int mode = 0600) {
    ASSERT_THAT(WriteFileDurably(folder_.File(name), content, mode), IsOk());
  }

  // Names, sizes and times of all files.
  std::string Listing() const {
    std::vector<std::string> lines;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      struct stat info {};
      ::lstat(entry.path().c_str(), &info);
      lines.push_back(absl::StrCat(entry.path().string(), " ", info.st_size, " ",
                                   info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec));
    }
    std::sort(lines.begin(), lines.end());
    return absl::StrJoin(lines, "\n");
  }

  const TempDir folder_;
};

class CheckConfigTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { SetLogLevel(v1::ERROR); }

  std::vector<std::string> Check(const std::string& text) const { return place_.Check(text); }
  ConfigResult Parse(const std::string& text) const { return ParseConfig(text, place_.path(), {}); }

  Place place_;
};

TEST_F(CheckConfigTest, IsTheVerdictOfAStart) {
  std::vector<std::string> texts;
  for (const char* base : kBases) {
    texts.push_back(ConfigOf(base, ""));
    for (const char* odd : kOdd) texts.push_back(ConfigOf(base, odd));
  }
  for (const char* server : kOddServers) {
    texts.push_back(ConfigOf(kBases[0], "", server));
    texts.push_back(ConfigOf(kBases[6], "", server));
  }
  // Servers wait for threads of theirs when they end: some at a time.
  constexpr int kAtATime = 16;
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> taken = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kAtATime; ++i) {
    threads.emplace_back([&] {
      Place place;
      for (std::size_t at = next++; at < texts.size(); at = next++) {
        if (place.ExpectOneVerdict(texts[at])) ++taken;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(texts.size(), 200u);
  EXPECT_GE(taken, 50u);                 // the table is not too odd
  EXPECT_GE(texts.size() - taken, 50u);  // and odd enough
  RecordProperty("tried", static_cast<int>(texts.size()));
  RecordProperty("taken", static_cast<int>(taken));
}

TEST_F(CheckConfigTest, NamesTheListenersThatExcludeEachOther) {
  EXPECT_THAT(Check(ConfigOf(kBases[0], "",
                             "listen: '127.0.0.1:47070' api_listen: '0.0.0.0:47070'"
                             " insecure_non_loopback: true")),
              ElementsAre(HasSubstr("api_listen: 0.0.0.0:47070 is taken by listen on "
                                    "127.0.0.1:47070")));
  // Two addresses of a machine are two.
  EXPECT_THAT(
      Check(ConfigOf(kBases[0], "", "listen: '127.0.0.1:47070' http_listen: '127.0.0.2:47070'")),
      IsEmpty());
}

TEST_F(CheckConfigTest, IsGivenBesideARunningServer) {
  const std::string text = ConfigOf(kBases[6], "");
  auto spec = Parse(text).spec;
  ASSERT_TRUE(spec);
  const auto server = Server::Start(*std::move(spec), SystemClock(), [](auto) {});
  ASSERT_THAT(server.status(), IsOk());
  EXPECT_THAT(Check(text), IsEmpty());
  EXPECT_THAT(Check(ConfigOf(kBases[6], "prior_stddev: 2")), IsEmpty());
  // Changes that the stored model does not allow.
  EXPECT_THAT(Check(ConfigOf(kBases[6], "dimension: 3")),
              ElementsAre(AllOf(HasSubstr("f:4:1: models[0]: "), HasSubstr("dimension"))));
  EXPECT_EQ(testing::HttpRequest((*server)->http_listen(), "/readyz").status, 200);
}

// A model that cannot be opened with its new configuration is served as before, and so it is by the
// next start with the former one.
TEST_F(CheckConfigTest, ReloadClosesNothingThatItCannotOpen) {
  const std::string text = ConfigOf(kBases[0], "");
  const auto start = [&] {
    auto spec = Parse(text).spec;
    return Server::Start(*std::move(spec), SystemClock(), [](auto) {});
  };
  {
    const auto server = start();
    ASSERT_THAT(server.status(), IsOk());
    for (const char* odd : {"reward_stddev: 1e-16", "prior_stddev: 1e-16", "arms_file: 'long.tsv'",
                            "arms_file: 'groups.tsv'"}) {
      const std::string changed = ConfigOf(kBases[0], odd);
      auto next = Parse(changed).spec;
      if (!next) continue;  // refused before the reload
      EXPECT_FALSE((*server)->Reload(std::move(next))) << odd;
      EXPECT_EQ(testing::HttpRequest((*server)->http_listen(), "/readyz").status, 200) << odd;
    }
    EXPECT_TRUE((*server)->Reload(Parse(text).spec));
  }
  EXPECT_THAT(start().status(), IsOk());
}

}  // namespace
}  // namespace bandana::server

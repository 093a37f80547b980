// Conversations between clients and servers of earlier versions, stored in tests/golden/wire and
// beside it: this version's server understands those clients, and this version's clients those
// servers. `wire_golden_test --write=FOLDER` records today's. Stored files stay as they are:
// messages of later versions are recorded beside them.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bandana/client.h"
#include "client/src/seams.h"
#include "common/base/file.h"
#include "server/models/registry.h"
#include "server/service/decisions/decision_index.h"
#include "server/service/recommender.h"
#include "server/service/tokens/token_keys.h"
#include "server/service/transport/grpc_server.h"
#include "tests/golden/conversation.h"
#include "tests/golden/golden_main.h"
#include "tests/support/fake_clock.h"
#include "tests/support/model_harness.h"
#include "tests/support/status_matchers.h"
#include "tests/support/stored_files.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

namespace fs = std::filesystem;

std::string write_to;

struct Conversation {
  std::string name;     // a folder beside wire
  int methods = 0;      // that are called
  int submits = 0;      // at least
  std::string stocked;  // the model with a catalogue; empty: there is none
  std::vector<std::string> configs;
  std::vector<Exchange> calls;  // requests that no device makes, without answers
};

Conversation With(Conversation conversation) {
  for (std::string& config : conversation.configs) {
    absl::StrAppend(&config, " dimension: 2 reporting { one_per_decision: true }");
  }
  return conversation;
}

// One of each kind of report.
Conversation Reports() {
  return With(
      {.name = "wire",
       .methods = 6,
       .submits = 10,
       .stocked = "plain",
       .configs = {
           "name: 'plain' mode: NON_PRIVATE shared {}",
           "name: 'central' mode: CENTRAL_REWARD shared {} refresh_interval {}"
           " privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER counter { horizon: 100 } }",
           "name: 'randomized' mode: LOCAL_REWARD independent {}"
           " privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }",
           "name: 'centred' mode: LOCAL_REWARD shared {}"
           " privacy { epsilon: 1 mechanism: CENTRED_RANDOMIZER }",
           "name: 'counted' mode: LOCAL_REWARD independent {} refresh_interval {}"
           " privacy { epsilon: 1 delta: 1e-6 mechanism: COUNTER counter { horizon: 100 } }",
           "name: 'seeds' mode: LOCAL_CONTEXT shared {} refresh_interval {}"
           " privacy { epsilon: 1 mechanism: PRIVUNIT }",
           "name: 'gaussian' mode: LOCAL_CONTEXT shared {} refresh_interval {}"
           " privacy { epsilon: 1 delta: 1e-6 mechanism: JOINT_GAUSSIAN }",
           "name: 'draws' mode: NON_PRIVATE arms {}",
           "name: 'points' mode: LOCAL_REWARD privacy { epsilon: 1 } points {}",
       }});
}

// Users, groups and arms have effects.
Conversation Effects() {
  return With(
      {.name = "wire_effects",
       .methods = 6,
       .submits = 3,
       .stocked = "effects",
       .configs = {
           "name: 'effects' mode: LOCAL_REWARD privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }"
           " effects { standard {} user_groups: 'plan' arm_groups: 'genre' }",
       }});
}

template <typename Request>
Exchange Asking(const std::string& method, const std::string& json) {
  Request request;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &request).ok()) << json;
  return {method, request.model(), request.SerializeAsString(), ""};
}

constexpr char kShop[] =
    " features { bias: true"
    "  context { name: 'device' categorical { values: 'phone' values: 'desk' } }"
    "  arm { name: 'price' numeric { low: 0 high: 100 } }"
    "  arm { name: 'tags' set { values: 'news' values: 'sport' } } }";

// Contexts and arms by name, and decisions by the caller's ids.
Conversation Named() {
  Conversation named{
      .name = "wire_named",
      .methods = 7,
      .submits = 3,
      .configs = {
          absl::StrCat("name: 'shop' mode: NON_PRIVATE shared {} reporting { one_per_decision: true"
                       " }",
                       kShop),
          absl::StrCat("name: 'private-shop' mode: LOCAL_REWARD shared {}"
                       " privacy { epsilon: 1 mechanism: CENTRED_RANDOMIZER }"
                       " reporting { one_per_decision: true }",
                       kShop),
          absl::StrCat(
              "name: 'feed' mode: NON_PRIVATE shared {} refresh_interval {}"
              " reporting { reward_window { duration { seconds: 60 } default_reward: 0 } }",
              kShop),
      }};
  const auto select = [](const std::string& more) {
    return Asking<v1::SelectRequest>(
        "Select",
        absl::StrCat(R"({"model": "feed", "user": "ann", "context": {"device": "phone"}, "arms": )"
                     R"({"named_arms": {"arms": [)"
                     R"({"id": "a", "features": {"price": 3, "tags": ["news"]}}, )"
                     R"({"id": "b", "features": {"price": 120, "tags": ["sport", "art"]}}]}}, )",
                     more, "}"));
  };
  const auto report = [](const std::string& outcomes) {
    return Asking<v1::ReportRequest>(
        "Report", absl::StrCat(R"({"model": "feed", "outcomes": [)", outcomes, "]}"));
  };
  named.calls = {
      select(R"("decision_id": "one", "top_k": 2, "explain": true)"),
      select(R"("decision_id": "one", "top_k": 2, "explain": true)"),
      report(R"({"decision_id": "one", "reward": 1, "shown": 1})"),
      select(R"("decision_id": "later", "deferred": true)"),
      Asking<v1::ActivateRequest>("Activate", R"({"model": "feed", "decision_ids": ["later"]})"),
      report(R"({"decision_id": "later", "reward": 0.5})"),
      select(R"("decision_id": "page", "slots": 2)"),
      report(R"({"decision_id": "page", "slot": 1, "reward": 1}, )"
             R"({"decision_id": "page", "slot": 0})"),
      select(R"("learn": false)"),
  };
  return named;
}

std::string FolderOf(const Conversation& conversation) {
  return absl::StrCat(BANDANA_WIRE_DIR "/../", conversation.name);
}

// The server's part without a transport, over a data folder.
struct Server {
  Server(const Conversation& conversation, const std::string& folder, const Clock& clock) {
    keys = *server::TokenKeys::Open(
        {.file = folder + "/token_keys", .poll_interval = absl::ZeroDuration()}, clock);
    tokens = std::make_unique<server::TokenCodec>(*keys);
    registry = *server::ModelRegistry::Open({.data_dir = folder, .models_max = 100}, clock);
    for (const std::string& config : conversation.configs) {
      const absl::Status added = registry->AddConfigured(SpecOf(config));
      EXPECT_THAT(added, IsOk());
    }
    index = *server::DecisionIndex::Open({}, clock);
    recommender = server::MakeRecommender({}, *registry, *tokens, clock, index.get());
  }
  // All that was reported is learnt: equal conversations meet equal posteriors.
  void Settle() const {
    for (const auto& model : registry->List()) {
      ASSERT_TRUE(Eventually([&] {
        const v1::GetStatsResponse stats = model->Stats();
        return stats.applied_sequence() == stats.log_sequence();
      })) << model->spec().public_spec.name;
    }
  }

  std::unique_ptr<server::TokenKeys> keys;
  std::unique_ptr<server::TokenCodec> tokens;
  std::unique_ptr<server::ModelRegistry> registry;
  std::unique_ptr<server::DecisionIndex> index;
  std::unique_ptr<server::Handlers> recommender;
};

// A device that uses the models in all ways that each allows. Returns how many reports it made.
class Device {
 public:
  Device(server::Handlers& handlers, const Clock& clock) : clock_(clock) {
    server::GrpcServerOptions options;
    options.listen = "127.0.0.1:0";
    server_ = *server::GrpcServer::Start(options, handlers);
    store_ = *DeviceStore::Open(folder_.File("device.db"));
  }
  void Use(const std::string& model, const std::function<void()>& settle) {
    SCOPED_TRACE(model);
    ClientOptions options;
    options.target = server_->address();
    options.model = model;
    options.policy = PrivacyPolicy::AcceptAnything();
    options.posterior_interval = absl::Hours(1);
    device::Seams seams;
    seams.clock = &clock_;
    const auto client = device::Connect(options, store_, seams);
    ASSERT_THAT(client, IsOk());
    const std::vector<double> features = {0.6, 0.8, 1, 0};
    const std::vector<std::uint32_t> ids = {7, 9};
    const std::vector<std::string> tags = {"news"};
    const Features context = Features().Text("device", "phone");
    const std::vector<NamedArm> named = {
        {"a", Features().Number("price", 3).Texts("tags", {"news"})},
        {"b", Features().Number("price", 30).Texts("tags", {"sport"})}};
    int reports = 0;
    const auto report = [&](const absl::StatusOr<Selection>& selection, double reward) {
      ASSERT_THAT(selection, IsOk());
      ASSERT_THAT((*client)->Report(*selection, reward), IsOk());
      ASSERT_TRUE((*client)->Flush(absl::Seconds(10)));
      settle();
      ++reports;
    };
    for (const double reward : {0.75, 0.25}) {
      if (model == "points") {
        report((*client)->SelectPoint("ann"), reward);
      } else if (model == "draws") {
        report((*client)->Select("ann", Arms::Query({})), reward);
      } else if (model == "effects") {
        report((*client)->Select("ann", Arms::Inline(features, ids), 2), reward);
      } else if (IsShop(model)) {
        report((*client)->Select("ann", Arms::Named(named).In(context), 2), reward);
      } else {
        report((*client)->Select("ann", Arms::Inline(features), 2), reward);
      }
    }
    if (model == "plain") {
      report((*client)->Select("bob", Arms::Catalogue(ids)), 0.5);
      report((*client)->Select("bob", Arms::Query(tags)), 0.5);
    }
    if (model == "plain" || model == "randomized" || model == "centred") {
      ASSERT_THAT((*client)->RefreshPosterior("ann"), IsOk());
      report((*client)->SelectOnDevice("ann", Arms::Inline(features), 1), 0.5);
    }
    if (model == "effects") {
      ASSERT_THAT((*client)->RefreshPosterior("ann"), IsOk());
      report((*client)->SelectOnDevice("ann", Arms::Inline(features, ids), 1), 0.5);
    }
    if (model == "private-shop") {
      ASSERT_THAT((*client)->RefreshPosterior("ann"), IsOk());
      report((*client)->SelectOnDevice("ann", Arms::Named(named).In(context), 1), 0.5);
    }
    EXPECT_EQ((*client)->Stats().reports_applied, reports);
  }

 private:
  static bool IsShop(const std::string& model) { return absl::EndsWith(model, "shop"); }

  const Clock& clock_;
  const TempDir folder_;
  std::unique_ptr<server::GrpcServer> server_;
  std::shared_ptr<DeviceStore> store_;
};

std::vector<std::string> ModelsOf(const Conversation& conversation) {
  std::vector<std::string> names;
  for (const std::string& config : conversation.configs) {
    names.push_back(SpecOf(config).public_spec.name);
  }
  return names;
}

// All that devices and other callers say.
void Talk(const Conversation& conversation, server::Handlers& handlers, const Clock& clock,
          const std::function<void()>& settle) {
  Device device(handlers, clock);
  for (const std::string& model : ModelsOf(conversation)) {
    const auto asks = [&](const Exchange& call) { return call.model == model; };
    if (std::none_of(conversation.calls.begin(), conversation.calls.end(), asks)) {
      device.Use(model, settle);
    }
  }
  for (const Exchange& call : conversation.calls) {
    SCOPED_TRACE(call.method);
    ASSERT_THAT(Replay(call, handlers), IsOk());
    settle();
  }
}

std::vector<Exchange> Stored(const Conversation& conversation) {
  return ParseConversation(*ReadFile(FolderOf(conversation) + "/conversation.txt", 1 << 20));
}

void Write(const Conversation& conversation) {
  const FakeClock clock;
  const std::string to = absl::StrCat(write_to, "/", conversation.name);
  const std::string folder = to + "/server";
  fs::create_directories(folder);
  {
    const Server made(conversation, folder, clock);
    v1::PutArmsResponse response;
    const std::vector<server::CatalogueArm> arms = {{7, {0.6, 0.8}, {"news"}}, {9, {1, 0}, {}}};
    if (!conversation.stocked.empty()) {
      ASSERT_THAT(made.registry->FindOwned(conversation.stocked)->PutArms(arms, &response), IsOk());
    }
  }
  const TempDir copy;
  fs::copy(folder, copy.File("server"), fs::copy_options::recursive);
  const Server server(conversation, copy.File("server"), clock);
  Recorder recorder(*server.recommender);
  Talk(conversation, recorder, clock, [&] { server.Settle(); });
  std::set<std::string> methods;
  for (const Exchange& exchange : recorder.exchanges()) methods.insert(exchange.method);
  EXPECT_EQ(methods.size(), conversation.methods);
  ASSERT_THAT(
      WriteFileDurably(to + "/conversation.txt", FormatConversation(recorder.exchanges()), 0644),
      IsOk());
}

TEST(WireWriter, TodaysConversationsOnRequest) {
  Write(Reports());
  Write(Effects());
  Write(Named());
}

class WireTest : public ::testing::TestWithParam<Conversation> {};

INSTANTIATE_TEST_SUITE_P(All, WireTest, ::testing::Values(Reports(), Effects(), Named()),
                         [](const auto& info) { return info.param.name; });

// Fields that depend on when something was asked.
bool Fleeting(const std::string& field) { return absl::EndsWith(field, ".posterior_version"); }

// An answer to GetModel as servers gave it that sent no text.
std::string WithoutText(const std::string& response) {
  v1::GetModelResponse model;
  EXPECT_TRUE(model.ParseFromString(response));
  EXPECT_FALSE(model.policy_text().empty());
  model.clear_policy_text();
  model.clear_table_digest();
  return model.SerializeAsString();
}

// Its requests, tokens sealed then included, mean now what they meant then, and the answers have
// every field that it knows.
TEST_P(WireTest, AnEarlierClientIsUnderstood) {
  const FakeClock clock;
  const TempDir folder;
  const Server server(GetParam(),
                      CopyStored(FolderOf(GetParam()) + "/server", folder.File("server")), clock);
  std::map<std::string, int> calls;
  for (const Exchange& then : Stored(GetParam())) {
    SCOPED_TRACE(absl::StrCat(then.method, " ", then.model));
    const auto now = Replay(then, *server.recommender);
    ASSERT_THAT(now, IsOk());
    server.Settle();
    ++calls[then.method];
    std::vector<std::string> missing = FieldsOfResponse(then);
    const std::vector<std::string> there = FieldsOfResponse(*now);
    std::erase_if(missing, [&](const std::string& field) {
      return Fleeting(field) || std::binary_search(there.begin(), there.end(), field);
    });
    EXPECT_THAT(missing, ::testing::IsEmpty());
    // The policy's hash is among them: a device that agreed to it goes on. A report that was
    // applied then is applied now.
    if (then.method == "GetModel") {
      EXPECT_EQ(WithoutText(now->response), then.response);
    } else if (then.method == "Report" || then.method == "Submit") {
      EXPECT_EQ(now->response, then.response);
    }
  }
  EXPECT_EQ(calls.size(), GetParam().methods);
  EXPECT_GE(calls["Submit"], GetParam().submits);
}

TEST_P(WireTest, AnEarlierServerIsUnderstood) {
  const FakeClock clock;
  const std::vector<Exchange> stored = Stored(GetParam());
  Playback earlier(stored);
  Recorder recorder(earlier);
  Talk(GetParam(), recorder, clock, [] {});
  // It is sent the hash and the tokens that it gave, under the names that it knows.
  const auto count = [](const std::vector<Exchange>& exchanges) {
    std::map<std::string, int> calls;
    for (const Exchange& exchange : exchanges) {
      if (exchange.method != "GetPosterior") ++calls[exchange.method + " " + exchange.model];
    }
    return calls;
  };
  EXPECT_EQ(count(recorder.exchanges()), count(stored));
  std::map<std::string, std::string> hashes;
  std::string answers;
  for (const Exchange& then : stored) {
    answers += then.response;
    v1::GetModelResponse model;
    if (then.method != "GetModel") continue;
    ASSERT_TRUE(model.ParseFromString(then.response));
    hashes[then.model] = model.policy_hash();
  }
  for (const Exchange& now : recorder.exchanges()) {
    v1::SubmitRequest submit;
    if (now.method != "Submit") continue;
    ASSERT_TRUE(submit.ParseFromString(now.request));
    EXPECT_EQ(submit.policy_hash(), hashes[now.model]);
    for (const auto& report : submit.reports())
      EXPECT_THAT(answers, ::testing::HasSubstr(report.token()));
    for (const auto& report : submit.counter_reports()) {
      for (const auto& step : report.steps())
        EXPECT_THAT(answers, ::testing::HasSubstr(step.token()));
    }
  }
}

}  // namespace
}  // namespace bandana::testing

int main(int argc, char** argv) {
  return bandana::testing::RunGolden(argc, argv, "WireWriter", bandana::testing::write_to);
}

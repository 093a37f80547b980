// Aliases on a real server: who answers, where decisions are reported, what is refused, what a
// restart and a reload keep; and the SDK, whose ledger counts under the name that was asked for.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "bandana/client.h"
#include "common/base/file.h"
#include "common/base/sha256.h"
#include "google/protobuf/text_format.h"
#include "tests/support/http_request.h"
#include "tests/support/plain_caller.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/ctl/admin_client.h"
#include "tools/ctl/commands.h"

namespace bandana::testing {
namespace {

const std::vector<double> kArms = {1, 0, 0, 1};

bool Eventually(const std::function<bool()>& condition) {
  for (int attempt = 0; attempt < 2000; ++attempt) {
    if (condition()) return true;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return false;
}

std::string Model(const std::string& name, const std::string& more = "mode: NON_PRIVATE") {
  return "models { name: '" + name + "' dimension: 2 independent {} " + more + " }\n";
}

class AliasTest : public ::testing::Test {
 protected:
  void Start(const std::string& config, const ChannelSecurity& security = {}) {
    auto server = ServerProcess::Start({.config = config,
                                        .folder = folder_.path(),
                                        .listen = server_ ? server_->listen() : "127.0.0.1:0"});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    admin_ = *AdminClient::Connect(server_->listen(), absl::Seconds(60), security);
    caller_ = std::make_unique<PlainCaller>(server_->listen());
  }
  absl::Status Ctl(std::vector<std::string> words) {
    output_ = {};
    return RunCommand(*admin_, {.words = std::move(words)}, output_);
  }
  std::string Token(const std::string& name, const std::string& user) {
    v1::SelectResponse response;
    const grpc::Status status = caller_->Select(name, user, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.token();
  }
  v1::OutcomeResult Report(const std::string& name, const std::string& token) {
    v1::ReportResponse response;
    const grpc::Status status = caller_->Report(name, token, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.results_size() == 1 ? response.results(0) : v1::OutcomeResult();
  }
  std::uint64_t Applied(const std::string& model) {
    const auto stats = admin_->GetStats(model);
    EXPECT_THAT(stats, IsOk());
    return stats.ok() ? stats->reports_applied() : 0;
  }
  // How many reports each model takes of a user who decides once.
  std::string ModelOf(const std::string& alias, const std::string& user,
                      const std::vector<std::string>& models) {
    std::map<std::string, std::uint64_t> before;
    for (const std::string& model : models) before[model] = Applied(model);
    EXPECT_EQ(Report(alias, Token(alias, user)).code(), v1::APPLIED);
    for (const std::string& model : models) {
      if (Applied(model) != before[model]) return model;
    }
    return "";
  }
  void Reload(const std::string& config) {
    ASSERT_THAT(WriteFileDurably(folder_.File("server.textproto"), config, 0600), IsOk());
    server_->process().Signal(SIGHUP);
  }
  std::unique_ptr<Client> MustConnect(const std::string& name, std::uint64_t events_max = 0) {
    ClientOptions options;
    options.target = server_->listen();
    options.model = name;
    options.select_deadline = absl::Seconds(20);
    options.policy.epsilon_max = 20;
    options.policy.delta_max = 1e-6;
    options.policy.events_per_user_max = events_max;
    auto store = DeviceStore::Open(device_.File("device.db"));
    EXPECT_THAT(store, IsOk());
    if (!store.ok()) return nullptr;
    auto client = Client::Connect(options, *std::move(store));
    EXPECT_THAT(client, IsOk());
    return client.ok() ? *std::move(client) : nullptr;
  }

  const TempDir folder_;
  const TempDir device_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<AdminClient> admin_;
  std::unique_ptr<PlainCaller> caller_;
  CommandOutput output_;
};

TEST_F(AliasTest, ASplitIsMadeMovedAndKeptByARestart) {
  Start(Model("a") + Model("b"));
  ASSERT_THAT(Ctl({"models", "alias", "put", "feed", "a:1", "b:1"}), IsOk());
  std::map<std::string, std::string> models;
  for (int i = 0; i < 24; ++i) {
    const std::string user = absl::StrCat("user-", i);
    models[user] = ModelOf("feed", user, {"a", "b"});
  }
  // Which is a function of the names: tests/unit/alias_rules_test.cc has its law.
  EXPECT_EQ(models["user-0"], "b");
  EXPECT_EQ(models["user-2"], "a");
  const std::string of_a = Token("feed", "user-2");
  ASSERT_THAT(Ctl({"models", "alias", "put", "feed", "b"}), IsOk());
  ASSERT_THAT(Ctl({"models", "alias", "list"}), IsOk());
  EXPECT_THAT(output_.text, HasSubstr("feed                     b:1 (100 %)"));
  EXPECT_EQ(ModelOf("feed", "user-2", {"a", "b"}), "b");
  ASSERT_EQ(server_->Terminate(), 0);
  Start(Model("a") + Model("b"));
  EXPECT_EQ(ModelOf("feed", "user-2", {"a", "b"}), "b");
  // The decision was made before the move and before the restart.
  const std::uint64_t before = Applied("a");
  EXPECT_EQ(Report("feed", of_a).code(), v1::APPLIED);
  EXPECT_EQ(Applied("a"), before + 1);
  EXPECT_EQ(Report("feed", of_a).code(), v1::DUPLICATE);
  EXPECT_EQ(Report("b", of_a).reason(), v1::TOKEN_FOREIGN);
  EXPECT_EQ(Report("feed", Token("b", "user-2")).reason(), v1::TOKEN_FOREIGN);
  EXPECT_THAT(HttpRequest(server_->http_listen(), "/models/b").body, HasSubstr("feed (100 %)"));
  ASSERT_THAT(Ctl({"models", "alias", "delete", "feed"}), IsOk());
  v1::SelectResponse unused;
  EXPECT_EQ(caller_->Select("feed", "ann", unused).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(AliasTest, WhatAModelBehindAnAliasMayNotDo) {
  Start("");
  const auto create = [this](const std::string& text) {
    v1::ModelConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
    return admin_->CreateModel(config).status();
  };
  ASSERT_THAT(create("name: 'a' dimension: 2 independent {} mode: NON_PRIVATE"), IsOk());
  ASSERT_THAT(create("name: 'b' dimension: 3 independent {} mode: NON_PRIVATE"), IsOk());
  EXPECT_THAT(Ctl({"models", "alias", "put", "feed", "a", "b:5"}),
              StatusIs(Code::kFailedPrecondition, "alias feed: dimension of model b"));
  EXPECT_THAT(Ctl({"models", "alias", "put", "feed", "a:x"}),
              StatusIs(Code::kInvalidArgument, "a weight must be"));
  EXPECT_THAT(Ctl({"models", "alias", "put", "Feed", "a"}),
              StatusIs(Code::kInvalidArgument, "alias.name: "));
  EXPECT_THAT(Ctl({"models", "alias", "put", "feed"}), StatusIs(Code::kInvalidArgument, "usage: "));
  ASSERT_THAT(Ctl({"models", "alias", "put", "feed", "a"}), IsOk());
  v1::UpdateModelRequest update;
  update.mutable_config()->set_name("a");
  update.mutable_config()->mutable_token_lifetime()->set_seconds(60);
  EXPECT_THAT(admin_->UpdateModel(update),
              StatusIs(Code::kFailedPrecondition, "model a is behind an alias: alias feed"));
  EXPECT_THAT(admin_->DeleteModel("a"),
              StatusIs(Code::kFailedPrecondition, "model a is behind alias feed"));
  EXPECT_THAT(create("name: 'feed' dimension: 2 independent {} mode: NON_PRIVATE"),
              StatusIs(Code::kAlreadyExists, "model feed: an alias has the name"));
  // Calls about a model's data take a model's name.
  EXPECT_THAT(admin_->GetStats("feed"),
              StatusIs(Code::kFailedPrecondition, "model: `feed` is an alias"));
  EXPECT_THAT(admin_->DeleteModel("feed"),
              StatusIs(Code::kFailedPrecondition, "model: `feed` is an alias"));
  EXPECT_THAT(Ctl({"models", "alias", "delete", "none"}),
              StatusIs(Code::kNotFound, "alias none does not exist"));
}

TEST_F(AliasTest, SighupTakesTheAliasesOfTheFile) {
  const std::string models = Model("a") + Model("b");
  Start(models + "aliases { name: 'feed' shares { model: 'a' } }\n");
  EXPECT_EQ(ModelOf("feed", "ann", {"a", "b"}), "a");
  EXPECT_THAT(Ctl({"models", "alias", "put", "feed", "b"}),
              StatusIs(Code::kFailedPrecondition, "alias feed is in the configuration file"));
  Reload(models + "aliases { name: 'feed' shares { model: 'b' } }\n");
  EXPECT_TRUE(Eventually([&] { return ModelOf("feed", "ann", {"a", "b"}) == "b"; }));
  // A mistake changes nothing: the alias has a model that the file does not have.
  Reload(Model("a") + "aliases { name: 'feed' shares { model: 'b' } }\n");
  EXPECT_TRUE(Eventually([&] {
    return HttpRequest(server_->http_listen(), "/metrics")
               .body.find("bandana_reload_failures_total 1\n") != std::string::npos;
  }));
  EXPECT_EQ(ModelOf("feed", "ann", {"a", "b"}), "b");
  Reload(models);
  v1::SelectResponse unused;
  EXPECT_TRUE(Eventually([&] {
    return caller_->Select("feed", "ann", unused).error_code() == grpc::StatusCode::NOT_FOUND;
  }));
  ASSERT_EQ(server_->Terminate(), 0);
  EXPECT_THAT(server_->process().err(), HasSubstr("aliases[0].shares[0].model"));
}

TEST_F(AliasTest, WhoMayNameAnAliasMayUseItAndNotTheModelsBehind) {
  const auto digest = [](const std::string& token) { return ToHex(Sha256Of(token)); };
  const std::string app = "app-token-5f3c9f0de1b24c7a";
  const std::string ops = "ops-token-5f3c9f0de1b24c7a";
  const std::string some = "some-token-5f3c9f0de1b24c7";
  const auto security = [&](const std::string& token) {
    const std::string file = folder_.File(token.substr(0, 4));
    EXPECT_THAT(WriteFileDurably(file, token, 0600), IsOk());
    return ChannelSecurity{.token_file = file};
  };
  Start(Model("a") + "access {\n principals { name: 'app' token_sha256: '" + digest(app) +
            "' roles: ROLE_SELECT roles: ROLE_REPORT models: 'feed' }\n"
            " principals { name: 'ops' token_sha256: '" +
            digest(ops) + "' roles: ROLE_ADMIN }\n principals { name: 'some' token_sha256: '" +
            digest(some) + "' roles: ROLE_ADMIN models: 'a' models: 'feed' } }\n",
        security(ops));
  ASSERT_THAT(Ctl({"models", "alias", "put", "feed", "a"}), IsOk());
  const auto select = [&](const std::string& name) {
    v1::SelectRequest request;
    request.set_model(name);
    request.set_user("ann");
    for (const double x : kArms) request.mutable_arms()->mutable_inline_arms()->add_features(x);
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + app);
    v1::SelectResponse response;
    return caller_->stub().Select(&context, request, &response).error_code();
  };
  EXPECT_EQ(select("feed"), grpc::StatusCode::OK);
  EXPECT_EQ(select("a"), grpc::StatusCode::PERMISSION_DENIED);
  const auto limited = AdminClient::Connect(server_->listen(), absl::Seconds(60), security(some));
  ASSERT_THAT(limited, IsOk());
  v1::Alias alias;
  alias.set_name("feed");
  alias.add_shares()->set_model("a");
  EXPECT_THAT((*limited)->PutAlias(alias), StatusIs(Code::kPermissionDenied));
  EXPECT_THAT((*limited)->DeleteAlias("feed"), StatusIs(Code::kPermissionDenied));
  EXPECT_THAT((*limited)->ListAliases(), StatusIs(Code::kPermissionDenied));
}

constexpr char kLocal[] =
    "mode: LOCAL_REWARD privacy { epsilon: 2 } reporting { one_per_decision: true }";

// The device sees one name, and pays from one budget, whatever answers.
TEST_F(AliasTest, TheDevicesLedgerCountsUnderTheAlias) {
  Start(Model("a", kLocal) + Model("b", kLocal));
  ASSERT_THAT(Ctl({"models", "alias", "put", "feed", "a"}), IsOk());
  const auto client = MustConnect("feed", /*events_max=*/5);
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(client->model().name, "feed");
  const auto event = [&] {
    const auto selection = client->Select("ann", Arms::Inline(kArms));
    return selection.ok() ? client->Report(*selection, 1.0) : selection.status();
  };
  ASSERT_THAT(event(), IsOk());
  const auto open = client->Select("ann", Arms::Inline(kArms));
  ASSERT_THAT(open, IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(30)));
  ASSERT_THAT(Ctl({"models", "alias", "put", "feed", "a:1", "b:1000000"}), IsOk());
  ASSERT_THAT(client->Report(*open, 1.0), IsOk());
  for (int i = 0; i < 3; ++i) ASSERT_THAT(event(), IsOk());
  EXPECT_FALSE(event().ok());  // the sixth, of both models together
  ASSERT_TRUE(client->Flush(absl::Seconds(30)));
  EXPECT_EQ(client->Stats().reports_applied, 5);
  EXPECT_EQ(Applied("a"), 2);
  EXPECT_EQ(Applied("b"), 3);
  const auto spent = client->Spent("ann");
  ASSERT_THAT(spent, IsOk());
  EXPECT_EQ(spent->events, 5);
  EXPECT_EQ(spent->epsilon_user, 10);
}

// A device's counter goes on with one model: after a move it pays for a new stream.
TEST_F(AliasTest, AStreamEndsWhenItsAliasMoves) {
  const std::string counter =
      "mode: LOCAL_REWARD privacy { epsilon: 18 delta: 1e-6 mechanism: COUNTER "
      "counter { horizon: 1000 } } reporting { one_per_decision: true }";
  Start(Model("a", counter) + Model("b", counter));
  ASSERT_THAT(Ctl({"models", "alias", "put", "feed", "a"}), IsOk());
  EXPECT_THAT(Ctl({"models", "alias", "put", "feed", "a", "b"}),
              StatusIs(Code::kFailedPrecondition, "alias feed: shares must be 1"));
  const auto client = MustConnect("feed");
  ASSERT_NE(client, nullptr);
  const auto event = [&] {
    const auto selection = client->Select("ann", Arms::Inline(kArms));
    const absl::Status reported =
        selection.ok() ? client->Report(*selection, 1.0) : selection.status();
    EXPECT_TRUE(client->Flush(absl::Seconds(30)));
    return reported;
  };
  ASSERT_THAT(event(), IsOk());
  ASSERT_THAT(event(), IsOk());
  EXPECT_EQ(Applied("a"), 2);
  EXPECT_EQ(client->Spent("ann")->streams, 1);
  const std::uint64_t epoch = client->Streams("ann")->front().epoch;
  ASSERT_THAT(Ctl({"models", "alias", "put", "feed", "b"}), IsOk());
  // Steps of the old stream are refused until the device has asked for the model again; then its
  // epoch is another one.
  EXPECT_TRUE(Eventually([&] {
    event().IgnoreError();
    return client->Streams("ann")->back().epoch != epoch && Applied("b") > 0;
  }));
  EXPECT_EQ(Applied("a"), 2);
  const auto streams = client->Streams("ann");
  ASSERT_THAT(streams, IsOk());
  EXPECT_EQ(client->Spent("ann")->streams, streams->size());  // each was paid for
  EXPECT_NE(streams->front().ended, "");
}

// Reports without tokens: what was drawn for one model is not learnt by another.
TEST_F(AliasTest, AMoveIsANewEpochWhereContextsArePrivate) {
  const auto model = [](const std::string& name) {
    return "models { name: '" + name +
           "' dimension: 2 shared {} mode: LOCAL_CONTEXT "
           "privacy { epsilon: 5 mechanism: PRIVUNIT } reporting { one_per_decision: true } }\n";
  };
  Start(model("a") + model("b"));
  ASSERT_THAT(Ctl({"models", "alias", "put", "feed", "a"}), IsOk());
  EXPECT_THAT(Ctl({"models", "alias", "put", "feed", "a", "b"}),
              StatusIs(Code::kFailedPrecondition, "alias feed: shares must be 1"));
  const auto client = MustConnect("feed");
  ASSERT_NE(client, nullptr);
  const auto event = [&] {
    const auto selection = client->Select("ann", Arms::Inline(kArms));
    ASSERT_THAT(selection, IsOk());
    ASSERT_THAT(client->Report(*selection, 1.0), IsOk());
    ASSERT_TRUE(client->Flush(absl::Seconds(30)));
  };
  event();
  EXPECT_EQ(Applied("a"), 1);
  ASSERT_THAT(Ctl({"models", "alias", "put", "feed", "b"}), IsOk());
  event();
  EXPECT_EQ(client->Stats().reports_rejected, 1);  // drawn for the epoch of the other model
  EXPECT_TRUE(Eventually([&] {
    event();
    return Applied("b") > 0;
  }));
  EXPECT_EQ(Applied("a"), 1);
  // Each was paid for, learnt or not.
  EXPECT_EQ(client->Spent("ann")->events, client->Stats().reports_queued);
}

// Windows that the server closes: a decision's cell is the model's that made it.
TEST_F(AliasTest, AnOpenWindowIsReportedToItsModel) {
  const std::string central =
      "mode: CENTRAL_REWARD privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } reporting { "
      "reward_window { "
      "duration { seconds: 3600 } default_reward: 0.5 } }";
  Start(Model("a", central) + Model("b", central));
  ASSERT_THAT(Ctl({"models", "alias", "put", "feed", "a"}), IsOk());
  const std::string token = Token("feed", "ann");
  ASSERT_THAT(Ctl({"models", "alias", "put", "feed", "b"}), IsOk());
  const std::string later = Token("feed", "ann");
  ASSERT_EQ(server_->Terminate(), 0);
  Start(Model("a", central) + Model("b", central));
  EXPECT_EQ(admin_->GetStats("a")->decisions_open(), 1);
  EXPECT_EQ(admin_->GetStats("b")->decisions_open(), 1);
  // A model that did not make the decision has no cell for it, and would say EXPIRED.
  EXPECT_EQ(Report("feed", token).code(), v1::APPLIED);
  EXPECT_EQ(Report("feed", later).code(), v1::APPLIED);
}

}  // namespace
}  // namespace bandana::testing

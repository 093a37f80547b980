// Admin and Recommender over the wire of a real server: run-time models, catalogues, restarts, bad
// requests, metrics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "google/protobuf/text_format.h"
#include "server/models/folder/export_header.h"
#include "tests/support/http_request.h"
#include "tests/support/plain_caller.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/ctl/admin_client.h"

namespace bandana::testing {
namespace {

constexpr char kConfig[] =
    "models { name: 'plain' dimension: 2 shared {} mode: NON_PRIVATE }\n"
    "models { name: 'local' dimension: 2 shared {} mode: LOCAL_REWARD\n"
    "  privacy { epsilon: 2 } reporting { one_per_decision: true } }\n";

v1::ModelConfig ConfigOf(const std::string& text) {
  v1::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

v1::Arm ArmOf(std::uint32_t id, double x, double y) {
  v1::Arm arm;
  arm.set_id(id);
  arm.add_features(x);
  arm.add_features(y);
  return arm;
}

bool Eventually(const std::function<bool()>& condition) {
  for (int attempt = 0; attempt < 2000; ++attempt) {
    if (condition()) return true;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return false;
}

class AdminTest : public ::testing::Test {
 protected:
  void SetUp() override { StartServer(); }

  void StartServer() {
    auto server = ServerProcess::Start({.config = kConfig, .folder = folder_.path()});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    admin_ = *AdminClient::Connect(server_->listen(), absl::Seconds(60));
    caller_ = std::make_unique<PlainCaller>(server_->listen());
  }

  std::string Export(const std::string& model) {
    std::string bytes;
    EXPECT_THAT(admin_->Export(model,
                               [&](std::string_view piece) {
                                 bytes += piece;
                                 return absl::OkStatus();
                               }),
                IsOk());
    return bytes;
  }

  grpc::Status Select(const std::string& model, const std::string& user,
                      v1::SelectResponse& response) {
    return caller_->Select(model, user, response);
  }
  grpc::Status Report(const std::string& model, const std::string& token,
                      v1::ReportResponse& response) {
    return caller_->Report(model, token, response);
  }

  // One decision with its report, and the code it was answered.
  v1::OutcomeCode SelectAndReport(const std::string& model, const std::string& user,
                                  std::string* token = nullptr) {
    v1::SelectResponse selection;
    const grpc::Status selected = Select(model, user, selection);
    EXPECT_TRUE(selected.ok()) << selected.error_message();
    if (token != nullptr) *token = selection.token();
    v1::ReportResponse response;
    const grpc::Status reported = Report(model, selection.token(), response);
    EXPECT_TRUE(reported.ok()) << reported.error_message();
    return response.results_size() == 1 ? response.results(0).code() : v1::OUTCOME_CODE_UNSPECIFIED;
  }

  v1::GetStatsResponse Stats(const std::string& model) {
    const auto stats = admin_->GetStats(model);
    EXPECT_THAT(stats, IsOk());
    return stats.ok() ? *stats : v1::GetStatsResponse();
  }

  const TempDir folder_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<AdminClient> admin_;
  std::unique_ptr<PlainCaller> caller_;
};

TEST_F(AdminTest, UsersHaveGroups) {
  ASSERT_THAT(
      admin_->CreateModel(ConfigOf("name: 'fx' dimension: 2 mode: NON_PRIVATE "
                                   "effects { standard {} user_groups: ['city', 'plan'] }")),
      IsOk());
  const auto put = [&](const std::string& model, const std::vector<v1::User>& users) {
    std::size_t next = 0;
    return admin_->PutUsers(model, [&](v1::User& user) {
      if (next == users.size()) return false;
      user = users[next++];
      return true;
    });
  };
  const auto user = [](const std::string& id, const std::string& city, const std::string& plan,
                       const std::string& known = "") {
    v1::User out;
    out.set_id(id);
    if (!city.empty()) (*out.mutable_groups())["city"] = city;
    if (!plan.empty()) (*out.mutable_groups())["plan"] = plan;
    if (!known.empty()) out.add_friends(known);
    return out;
  };
  const auto first = put("fx", {user("ann", "rome", "free"), user("bob", "", "gold")});
  ASSERT_THAT(first, IsOk());
  EXPECT_EQ(first->added(), 2u);
  const auto second = put("fx", {user("bob", "oslo", "gold"), user("cyd", "", "", "ann")});
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(second->added(), 1u);
  EXPECT_EQ(second->replaced(), 1u);
  EXPECT_EQ(second->users(), 3u);

  const auto refused = put("fx", {user("dan", "rome", ""), user("secret", "a\tb", "")});
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kInvalidArgument, "users[1].groups[city]"));
  EXPECT_THAT(std::string(refused.status().message()), Not(HasSubstr("secret")));
  EXPECT_THAT(put("plain", {user("ann", "", "")}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "model plain has no groups of users: its coupling is shared"));
  EXPECT_THAT(put("absent", {user("ann", "", "")}), StatusIs(absl::StatusCode::kNotFound));

  EXPECT_EQ(SelectAndReport("fx", "ann"), v1::APPLIED);
  EXPECT_EQ(SelectAndReport("fx", "nobody"), v1::APPLIED);
  const v1::UserGroupsStats groups = Stats("fx").user_groups();
  EXPECT_EQ(groups.users(), 3u);
  EXPECT_EQ(groups.decisions_without_groups(), 1u);
  EXPECT_EQ(groups.values().at("city"), 2u);
  EXPECT_EQ(groups.values().at("plan"), 2u);
  EXPECT_FALSE(Stats("plain").has_user_groups());
  const std::string metrics = HttpRequest(server_->http_listen(), "/metrics").body;
  EXPECT_THAT(metrics,
              AllOf(HasSubstr("bandana_model_users_with_groups{model=\"fx\"} 3"),
                    HasSubstr("bandana_model_users_with_groups_max{model=\"fx\"} 1000000"),
                    HasSubstr("bandana_model_decisions_without_groups_total{model=\"fx\"} 1"),
                    HasSubstr("bandana_model_group_values{"), Not(HasSubstr("rome"))));

  const std::string exported = Export("fx");
  const v1::ExportHeader header = *server::HeaderOfExport(exported);
  EXPECT_EQ(header.users(), 3u);
  ASSERT_THAT(admin_->CheckImport("copy", header), IsOk());
  ASSERT_THAT(admin_->Import("copy", exported, &header), IsOk());
  EXPECT_EQ(Stats("copy").user_groups().users(), 3u);
  ASSERT_EQ(server_->Terminate(), 0);
  StartServer();
  for (const char* name : {"fx", "copy"}) {
    EXPECT_EQ(Stats(name).user_groups().users(), 3u) << name;
    EXPECT_EQ(Stats(name).user_groups().values().at("city"), 2u) << name;
  }
}

TEST_F(AdminTest, EffectsAreFreed) {
  ASSERT_THAT(
      admin_->CreateModel(ConfigOf("name: 'fx' dimension: 2 mode: NON_PRIVATE effects { standard {}"
                                   "  user_groups: ['city'] free_after { seconds: 1 } }")),
      IsOk());
  const auto blocks = [&](const std::string& name) {
    const v1::GetStatsResponse stats = Stats("fx");
    for (const v1::EffectStats& effect : stats.effects().effects()) {
      if (effect.name() == name) return effect.blocks();
    }
    return ~std::uint64_t{0};
  };
  ASSERT_THAT(admin_->PutArms("fx", {ArmOf(1, 1, 0), ArmOf(2, 0, 1)}), IsOk());
  v1::User ann;
  ann.set_id("ann");
  (*ann.mutable_groups())["city"] = "rome";
  bool sent = false;
  ASSERT_THAT(admin_->PutUsers("fx",
                               [&](v1::User& user) {
                                 user = ann;
                                 return !std::exchange(sent, true);
                               }),
              IsOk());
  const auto report_of_arm = [&](std::uint32_t id, const std::string& user) {
    v1::SelectRequest request;
    request.set_model("fx");
    request.set_user(user);
    request.mutable_arms()->mutable_catalogue_arms()->add_ids(id);
    grpc::ClientContext context;
    v1::SelectResponse selection;
    const grpc::Status selected = caller_->stub().Select(&context, request, &selection);
    ASSERT_TRUE(selected.ok()) << selected.error_message();
    v1::ReportResponse response;
    ASSERT_TRUE(Report("fx", selection.token(), response).ok());
    ASSERT_EQ(response.results(0).code(), v1::APPLIED);
  };
  report_of_arm(1, "ann");
  report_of_arm(2, "eve");
  ASSERT_TRUE(Eventually([&] { return blocks("arm") == 2; }));
  ASSERT_THAT(admin_->RemoveArms("fx", {1}), IsOk());
  EXPECT_TRUE(Eventually([&] { return blocks("arm") == 1; }));

  const auto deleted = admin_->DeleteUsers("fx", {"ann", "eve", "nobody"});
  ASSERT_THAT(deleted, IsOk());
  EXPECT_EQ(deleted->deleted(), 2u);
  EXPECT_EQ(deleted->users(), 0u);
  EXPECT_EQ(blocks("user"), 0u);
  EXPECT_TRUE(Eventually([&] { return blocks("group_city") == 0; }));
  EXPECT_EQ(Stats("fx").effects().freed(), 4u);
  EXPECT_FALSE(Stats("plain").has_effects());
  const std::string metrics = HttpRequest(server_->http_listen(), "/metrics").body;
  EXPECT_THAT(metrics,
              AllOf(HasSubstr("bandana_model_effect_blocks{model=\"fx\",effect=\"arm\"} 1"),
                    HasSubstr("bandana_model_effect_keys_freed_total{model=\"fx\"} 4"),
                    HasSubstr("bandana_model_effect_pairs{model=\"fx\"} 0"),
                    HasSubstr("bandana_model_effect_pairs_max{model=\"fx\"} 1000000"),
                    HasSubstr("bandana_model_effects_bytes{model=\"fx\"}")));
  EXPECT_THAT(admin_->ExportUser("fx", "ann"), StatusIs(absl::StatusCode::kNotFound, "id: not"));
  v1::ListUsersRequest listed;
  listed.set_model("plain");
  EXPECT_THAT(admin_->ListUsers(listed),
              StatusIs(absl::StatusCode::kFailedPrecondition, "model plain keeps no ids"));
  EXPECT_THAT(admin_->DeleteUsers("plain", {"ann"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, "model plain knows nothing"));
  EXPECT_THAT(admin_->DeleteUsers("absent", {"ann"}), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(admin_->DeleteUsers("fx", {}), StatusIs(absl::StatusCode::kInvalidArgument, "ids: "));

  ASSERT_EQ(server_->Terminate(), 0);
  StartServer();
  EXPECT_EQ(blocks("arm"), 1u);
  EXPECT_EQ(blocks("user"), 0u);
  EXPECT_EQ(Stats("fx").user_groups().users(), 0u);
}

TEST_F(AdminTest, UsersOfAGraphAreNamedAtRunTime) {
  ASSERT_THAT(admin_->CreateModel(ConfigOf(
                  "name: 'graph' dimension: 2 mode: NON_PRIVATE\n"
                  "goblin { graph { users: 2 rows: 0 columns: 1 weights: 1 } users { ids: 'ann' "
                  "nodes: 1 } }")),
              IsOk());
  v1::SelectResponse selection;
  EXPECT_EQ(Select("graph", "eve", selection).error_code(), grpc::StatusCode::NOT_FOUND);
  bool given = false;
  const auto put = admin_->PutUsers("graph", [&](v1::User& user) {
    user.set_id("eve");
    user.set_node(0);
    return !std::exchange(given, true);
  });
  ASSERT_THAT(put, IsOk());
  EXPECT_EQ(put->added(), 1u);
  EXPECT_EQ(SelectAndReport("graph", "eve"), v1::APPLIED);
  v1::ListUsersRequest request;
  request.set_model("graph");
  const auto listed = admin_->ListUsers(request);
  ASSERT_THAT(listed, IsOk());
  ASSERT_EQ(listed->users_size(), 2);
  EXPECT_EQ(listed->users(1).id(), "eve");
  EXPECT_EQ(listed->users(1).node(), 0u);
  ASSERT_EQ(server_->Terminate(), 0);
  StartServer();
  EXPECT_EQ(SelectAndReport("graph", "eve"), v1::APPLIED);
  const auto user = admin_->ExportUser("graph", "eve");
  ASSERT_THAT(user, IsOk());
  EXPECT_FALSE(user->own_node());
  EXPECT_EQ(admin_->DeleteUsers("graph", {"eve"})->deleted(), 1u);
  EXPECT_EQ(Select("graph", "eve", selection).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(AdminTest, CreatesAndDeletesModelsAtRunTime) {
  const auto created = admin_->CreateModel(ConfigOf(
      "name: 'extra' dimension: 2 mode: NON_PRIVATE\n"
      "goblin { graph { users: 2 rows: 0 columns: 1 weights: 1 } users { ids: 'ann' nodes: 1 } }"));
  ASSERT_THAT(created, IsOk());
  EXPECT_EQ(created->nodes(), 2u);
  EXPECT_EQ(created->instance_id().size(), 32u);
  EXPECT_EQ(created->config().goblin().graph().weights_size(), 0);
  EXPECT_EQ(created->config().goblin().users().ids_size(), 0);
  EXPECT_EQ(SelectAndReport("extra", "ann"), v1::APPLIED);
  v1::SelectResponse selection;
  EXPECT_EQ(Select("extra", "eve", selection).error_code(), grpc::StatusCode::NOT_FOUND);

  std::vector<std::string> names;
  const auto models = admin_->ListModels();
  ASSERT_THAT(models, IsOk());
  for (const auto& model : models->models()) names.push_back(model.model().model());
  EXPECT_THAT(names, ElementsAre("extra", "local", "plain"));

  EXPECT_THAT(admin_->DeleteModel("extra"), IsOk());
  EXPECT_EQ(Select("extra", "ann", selection).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(admin_->DeleteModel("extra"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(admin_->DeleteModel("plain"), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(AdminTest, RefusesModelsItCannotServe) {
  EXPECT_THAT(
      admin_->CreateModel(ConfigOf("name: 'plain' dimension: 2 shared {} mode: NON_PRIVATE")),
      StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(admin_->CreateModel(ConfigOf("name: '../x' dimension: 900 shared {}")),
              StatusIs(absl::StatusCode::kInvalidArgument, "dimension: must be in [1, 256]"));
  EXPECT_THAT(admin_->CreateModel(ConfigOf("name: 'n' dimension: 2 mode: NON_PRIVATE\n"
                                           "colin { graph { file: '/etc/passwd' } }")),
              StatusIs(absl::StatusCode::kInvalidArgument, "colin.graph.file: cannot be named"));
  EXPECT_THAT(admin_->CreateModel(ConfigOf("name: 'n' dimension: 2 shared {} mode: NON_PRIVATE\n"
                                           "token_lifetime { seconds: 172800 }")),
              StatusIs(absl::StatusCode::kInvalidArgument, "rotation_interval"));
}

TEST_F(AdminTest, PutsListsAndRemovesArms) {
  const auto put = admin_->PutArms("plain", {ArmOf(1, 1, 0), ArmOf(2, 0, 1)});
  ASSERT_THAT(put, IsOk());
  EXPECT_EQ(put->added(), 2u);
  const auto again = admin_->PutArms("plain", {ArmOf(2, 0.5, 0.5), ArmOf(3, 0, -1)});
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->replaced(), 1u);
  EXPECT_EQ(again->arms(), 3u);
  // Nothing of a call with one bad arm takes effect.
  EXPECT_THAT(admin_->PutArms("plain", {ArmOf(9, 1, 0), v1::Arm()}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(admin_->PutArms("absent", {ArmOf(1, 1, 0)}), StatusIs(absl::StatusCode::kNotFound));
  const auto removed = admin_->RemoveArms("plain", {1, 77});
  ASSERT_THAT(removed, IsOk());
  EXPECT_EQ(removed->removed(), 1u);
  std::vector<std::uint32_t> ids;
  ASSERT_THAT(admin_->ListArms("plain", [&](const v1::Arm& arm) { ids.push_back(arm.id()); }),
              IsOk());
  EXPECT_THAT(ids, ElementsAre(2, 3));
}

TEST_F(AdminTest, PutsAGraphOfAsManyNodes) {
  ASSERT_THAT(
      admin_->CreateModel(ConfigOf("name: 'g' dimension: 2 mode: NON_PRIVATE\n"
                                   "colin { graph { users: 2 rows: 0 columns: 1 weights: 1 } }")),
      IsOk());
  v1::Graph graph;
  graph.set_users(2);
  graph.add_rows(0);
  graph.add_columns(1);
  graph.add_weights(5);
  const auto put = admin_->PutGraph("g", graph);
  ASSERT_THAT(put, IsOk());
  EXPECT_EQ(put->nodes(), 2u);
  EXPECT_THAT(admin_->PutGraph("plain", graph), Not(IsOk()));
  graph.set_weights(0, -1);
  EXPECT_THAT(admin_->PutGraph("g", graph), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(AdminTest, CountsEachDecisionOnce) {
  std::string token;
  EXPECT_EQ(SelectAndReport("plain", "u", &token), v1::APPLIED);
  v1::ReportResponse response;
  ASSERT_TRUE(Report("plain", token, response).ok());
  EXPECT_EQ(response.results(0).code(), v1::DUPLICATE);
  ASSERT_TRUE(Report("plain", "forged", response).ok());
  EXPECT_EQ(response.results(0).code(), v1::REJECTED);
  const auto stats = Stats("plain");
  EXPECT_EQ(stats.reports_applied(), 1u);
  EXPECT_EQ(stats.reports_duplicate(), 1u);
  EXPECT_EQ(stats.reports_rejected().at("token_invalid"), 1u);
}

TEST_F(AdminTest, RawRewardsOfALocalModelAreRefused) {
  v1::SelectResponse selection;
  ASSERT_TRUE(Select("local", "u", selection).ok());
  v1::ReportResponse response;
  EXPECT_EQ(Report("local", selection.token(), response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  v1::SubmitRequest submit;
  submit.set_model("plain");
  submit.add_reports()->set_token(selection.token());
  v1::SubmitResponse submitted;
  grpc::ClientContext context;
  EXPECT_EQ(caller_->stub().Submit(&context, submit, &submitted).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Stats("local").reports_applied(), 0u);
}

TEST_F(AdminTest, ATenMegabyteRequestIsRefusedAndTheServerStaysUp) {
  v1::SelectRequest request;
  request.set_model("plain");
  request.set_user(std::string(10 << 20, 'u'));
  v1::SelectResponse response;
  grpc::ClientContext context;
  EXPECT_EQ(caller_->stub().Select(&context, request, &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(SelectAndReport("plain", "u"), v1::APPLIED);
}

TEST_F(AdminTest, RunTimeModelsAndCountersSurviveRestarts) {
  ASSERT_THAT(
      admin_->CreateModel(ConfigOf("name: 'kept' dimension: 2 shared {} mode: NON_PRIVATE")),
      IsOk());
  ASSERT_THAT(admin_->PutArms("kept", {ArmOf(5, 1, 0)}), IsOk());
  std::string token;
  EXPECT_EQ(SelectAndReport("kept", "u", &token), v1::APPLIED);
  EXPECT_EQ(SelectAndReport("plain", "u"), v1::APPLIED);
  for (const bool kill : {true, false}) {
    if (kill) {
      server_->Kill();
    } else {
      EXPECT_EQ(server_->Terminate(), 0);
    }
    StartServer();
    const auto stats = Stats("kept");
    EXPECT_EQ(stats.reports_applied(), 1u);
    EXPECT_EQ(stats.arms(), 1u);
    EXPECT_EQ(stats.applied_sequence(), stats.log_sequence());
    EXPECT_EQ(Stats("plain").reports_applied(), 1u);
    v1::ReportResponse response;
    ASSERT_TRUE(Report("kept", token, response).ok());
    EXPECT_EQ(response.results(0).code(), v1::DUPLICATE);
  }
}

TEST_F(AdminTest, ExportsAndImportsUnderANewIdentity) {
  ASSERT_THAT(admin_->PutArms("plain", {ArmOf(5, 1, 0)}), IsOk());
  std::string token;
  EXPECT_EQ(SelectAndReport("plain", "u", &token), v1::APPLIED);
  const std::string exported = Export("plain");
  const auto copy = admin_->Import("copy", exported, nullptr);
  ASSERT_THAT(copy, IsOk());
  EXPECT_EQ(copy->model().model(), "copy");
  EXPECT_EQ(copy->arms(), 1u);
  v1::ReportResponse response;
  ASSERT_TRUE(Report("copy", token, response).ok());
  EXPECT_EQ(response.results(0).reason(), v1::TOKEN_FOREIGN);
  const auto import = [&](const std::string& name, const std::string& bytes) {
    return admin_->Import(name, bytes, nullptr);
  };
  EXPECT_THAT(import("copy", exported), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(import("../x", exported), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(import("cut", exported.substr(0, exported.size() - 1)),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(import("empty", ""), StatusIs(absl::StatusCode::kInvalidArgument));
  std::string flipped = exported;
  flipped[flipped.size() / 2] ^= 1;
  EXPECT_THAT(import("flipped", flipped), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(AdminTest, CheckpointsEpochsAndLedger) {
  EXPECT_EQ(SelectAndReport("plain", "u"), v1::APPLIED);
  const auto checkpoint = admin_->Checkpoint("plain");
  ASSERT_THAT(checkpoint, IsOk());
  EXPECT_GT(checkpoint->bytes(), 0u);
  EXPECT_EQ(checkpoint->log_sequence(), Stats("plain").log_sequence());

  v1::SelectResponse old;
  ASSERT_TRUE(Select("plain", "u", old).ok());
  const std::uint64_t epoch = Stats("plain").epoch();
  const auto opened = admin_->OpenEpoch("plain");
  ASSERT_THAT(opened, IsOk());
  EXPECT_EQ(opened->epoch(), epoch + 1);
  v1::ReportResponse response;
  ASSERT_TRUE(Report("plain", old.token(), response).ok());
  EXPECT_EQ(response.results(0).reason(), v1::TOKEN_FOREIGN);

  const auto ledger = admin_->GetLedger("local");
  ASSERT_THAT(ledger, IsOk());
  EXPECT_EQ(ledger->mechanism(), v1::REWARD_RANDOMIZER);
  EXPECT_EQ(ledger->guarantee(), "proven");
  EXPECT_EQ(ledger->epsilon_per_event(), 2);
  for (const auto& status :
       {admin_->GetLedger("absent").status(), admin_->Checkpoint("absent").status(),
        admin_->OpenEpoch("absent").status(),
        admin_->Export("absent", [](std::string_view) { return absl::OkStatus(); }).status(),
        admin_->GetStats("absent").status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  }
}

TEST_F(AdminTest, MetricsShowCallsAndModels) {
  EXPECT_EQ(SelectAndReport("plain", "u"), v1::APPLIED);
  v1::SelectResponse selection;
  EXPECT_FALSE(Select("absent", "u", selection).ok());
  const std::string metrics = HttpRequest(server_->http_listen(), "/metrics").body;
  EXPECT_THAT(
      metrics,
      AllOf(HasSubstr("bandana_calls_total{method=\"Select\",code=\"OK\"} 1"),
            HasSubstr("bandana_calls_total{method=\"Select\",code=\"NOT_FOUND\"} 1"),
            HasSubstr("bandana_call_duration_seconds_count{method=\"Report\"} 1"),
            HasSubstr("bandana_model_reports_applied_total{model=\"plain\"} 1"),
            HasSubstr("bandana_model_epsilon_per_event{model=\"local\"} 2"),
            HasSubstr("mechanism=\"REWARD_RANDOMIZER\",guarantee=\"proven\",research=\"false\"")));
  EXPECT_THAT(metrics, AllOf(HasSubstr("process_resident_memory_bytes"),
                             HasSubstr("bandana_model_apply_lag_entries{model=\"plain\"}")));
}

}  // namespace
}  // namespace bandana::testing

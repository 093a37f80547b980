// Changes of a running server: models updated by Admin and by SIGHUP while calls come in, and a
// damaged model among sound ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/file.h"
#include "google/protobuf/text_format.h"
#include "tests/support/http_request.h"
#include "tests/support/plain_caller.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/ctl/admin_client.h"

namespace bandana::testing {
namespace {

bool Eventually(const std::function<bool()>& condition) {
  for (int attempt = 0; attempt < 2000; ++attempt) {
    if (condition()) return true;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return false;
}

std::string Model(const std::string& name, const std::string& more = "") {
  return "models { name: '" + name + "' dimension: 2 independent {} mode: NON_PRIVATE " + more +
         " }\n";
}

class ChangeTest : public ::testing::Test {
 protected:
  void Start(const std::string& config) {
    auto server = ServerProcess::Start({.config = config, .folder = folder_.path()});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    admin_ = *AdminClient::Connect(server_->listen(), absl::Seconds(60));
    caller_ = std::make_unique<PlainCaller>(server_->listen());
  }

  grpc::Status Select(const std::string& model, v1::SelectResponse& response) {
    return caller_->Select(model, "ann", response);
  }
  grpc::Status Report(const std::string& model, const std::string& token,
                      v1::ReportResponse& response) {
    return caller_->Report(model, token, response);
  }

  v1::ModelConfig ConfigOf(const std::string& model) {
    const auto models = admin_->ListModels();
    EXPECT_THAT(models, IsOk());
    for (const v1::ModelDescription& one : models->models()) {
      if (one.model().model() == model) return one.config();
    }
    return {};
  }

  void Reload(const std::string& config) {
    ASSERT_THAT(WriteFileDurably(folder_.File("server.textproto"), config, 0600), IsOk());
    server_->process().Signal(SIGHUP);
  }

  const TempDir folder_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<AdminClient> admin_;
  std::unique_ptr<PlainCaller> caller_;
};

// A step of this half-life is a season long: no test sees one.
TEST_F(ChangeTest, AHalfLifeComesAndGoesByUpdates) {
  Start("");
  v1::ModelConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "name: 'm' dimension: 2 shared {} mode: NON_PRIVATE", &config));
  ASSERT_THAT(admin_->CreateModel(config), IsOk());
  EXPECT_EQ(admin_->GetStats("m")->log_sequence(), 0u);
  v1::UpdateModelRequest request;
  request.mutable_config()->set_name("m");
  request.mutable_config()->mutable_half_life()->set_seconds(87600 * 3600);
  const auto updated = admin_->UpdateModel(request);
  ASSERT_THAT(updated, IsOk());
  EXPECT_EQ(updated->config().half_life().seconds(), 87600 * 3600);
  EXPECT_EQ(admin_->GetStats("m")->log_sequence(), 1u) << "it begins";
  request.mutable_config()->clear_half_life();
  request.mutable_update_mask()->add_paths("half_life");
  ASSERT_THAT(admin_->UpdateModel(request), IsOk());
  EXPECT_EQ(admin_->GetStats("m")->log_sequence(), 2u) << "it ends";
  request.mutable_config()->mutable_half_life()->set_seconds(60);
  EXPECT_THAT(admin_->UpdateModel(request),
              StatusIs(absl::StatusCode::kInvalidArgument, "half_life: must be in [1h, 87600h]"));
  EXPECT_EQ(admin_->GetStats("m")->log_sequence(), 2u);
}

TEST_F(ChangeTest, SelectionsGoOnThroughUpdatesAndNoReportIsLost) {
  Start("");
  v1::ModelConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "name: 'm' dimension: 2 shared {} mode: NON_PRIVATE", &config));
  const auto created = admin_->CreateModel(config);
  ASSERT_THAT(created, IsOk());
  std::atomic<bool> stop{false};
  std::atomic<int> selections_failed{0};
  std::atomic<int> reports_wrong{0};
  std::atomic<std::uint64_t> reported{0};
  const auto work = [&] {
    while (!stop) {
      v1::SelectResponse selection;
      if (!Select("m", selection).ok()) {
        ++selections_failed;
        continue;
      }
      for (bool first = true;; first = false) {  // the same bytes until they are acknowledged
        v1::ReportResponse response;
        const grpc::Status status = Report("m", selection.token(), response);
        if (status.error_code() == grpc::StatusCode::UNAVAILABLE) continue;
        const v1::OutcomeCode code = status.ok() ? response.results(0).code() : v1::REJECTED;
        if (code != v1::APPLIED && (first || code != v1::DUPLICATE)) ++reports_wrong;
        break;
      }
      ++reported;
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) threads.emplace_back(work);
  v1::UpdateModelRequest request;
  request.mutable_config()->set_name("m");
  for (int i = 1; i <= 5; ++i) {
    request.mutable_config()->mutable_exploration()->set_alpha(i);
    const auto updated = admin_->UpdateModel(request);
    EXPECT_THAT(updated, IsOk());
    if (!updated.ok()) continue;
    EXPECT_EQ(updated->instance_id(), created->instance_id());
    EXPECT_EQ(updated->config().exploration().alpha(), i);
    const std::uint64_t seen = reported;
    EXPECT_TRUE(Eventually([&] { return reported > seen + 20; }));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(selections_failed, 0);
  EXPECT_EQ(reports_wrong, 0);
  EXPECT_EQ(admin_->GetStats("m")->reports_applied(), reported);

  request.mutable_config()->set_dimension(5);
  EXPECT_THAT(admin_->UpdateModel(request),
              StatusIs(absl::StatusCode::kInvalidArgument, "dimension"));
  request.mutable_update_mask()->add_paths("exploration.beta");
  EXPECT_THAT(admin_->UpdateModel(request),
              StatusIs(absl::StatusCode::kInvalidArgument, "`exploration.beta`"));
  EXPECT_EQ(admin_->GetStats("m")->reports_applied(), reported);
  ASSERT_EQ(server_->Terminate(), 0);
  Start("");
  EXPECT_EQ(ConfigOf("m").exploration().alpha(), 5);
  EXPECT_EQ(admin_->GetStats("m")->reports_applied(), reported);
}

TEST_F(ChangeTest, SighupTakesModelsLimitsAndLogLevel) {
  Start(Model("changes") + Model("goes") + Model("stays"));
  v1::SelectResponse selection;
  ASSERT_TRUE(Select("changes", selection).ok());
  const std::string next = Model("changes", "arms_max: 7") + Model("stays") + Model("new") +
                           "limits { arms_per_request_max: 1 } log_level: INFO\n";
  Reload(next);
  // The last that is taken.
  EXPECT_TRUE(Eventually([&] {
    v1::SelectResponse unused;
    return Select("stays", unused).error_code() == grpc::StatusCode::INVALID_ARGUMENT;
  }));
  EXPECT_EQ(ConfigOf("changes").arms_max(), 7u);
  EXPECT_EQ(ConfigOf("new").name(), "new");
  EXPECT_EQ(ConfigOf("goes").name(), "");
  v1::ReportResponse response;
  ASSERT_TRUE(Report("changes", selection.token(), response).ok());
  EXPECT_EQ(response.results(0).code(), v1::APPLIED);  // a decision from before

  // A mistake anywhere: nothing is taken. Then one field that needs a restart beside one that does
  // not.
  Reload(Model("changes", "arms_max: 8") + Model("stays", "arms_max: 0x7fffffff"));
  const auto failures = [&] { return HttpRequest(server_->http_listen(), "/metrics").body; };
  EXPECT_TRUE(Eventually([&] {
    return failures().find("bandana_access_reload_failures_total 1\n") != std::string::npos;
  }));
  EXPECT_EQ(ConfigOf("changes").arms_max(), 7u);
  Reload(next + Model("late") + "drain_delay { seconds: 1 }");
  EXPECT_TRUE(Eventually([&] { return ConfigOf("late").name() == "late"; }));
  EXPECT_TRUE(Eventually(
      [&] { return failures().find("bandana_reload_failures_total 2\n") != std::string::npos; }));
  // The page says so until a reload takes all.
  const auto page = [&] { return HttpRequest(server_->http_listen(), "/").body; };
  EXPECT_THAT(page(), HasSubstr("not all of it was taken"));
  Reload(next + Model("late"));
  EXPECT_TRUE(
      Eventually([&] { return page().find("not all of it was taken") == std::string::npos; }));
  ASSERT_EQ(server_->Terminate(), 0);
  const std::string log = server_->process().err();
  EXPECT_THAT(log, AllOf(HasSubstr("model goes: the configuration does not name it any more"),
                         HasSubstr("need a restart: drain_delay"), HasSubstr("models[1]")));
}

TEST_F(ChangeTest, ADamagedModelIsSaidAndTheOthersServe) {
  const std::string config = Model("bad") + Model("good");
  Start(config);
  ASSERT_EQ(server_->Terminate(), 0);
  const std::string identity = folder_.File("data/models/bad/identity");
  const auto sound = ReadFile(identity, 1 << 20);
  ASSERT_THAT(sound, IsOk());
  ASSERT_THAT(WriteFileDurably(identity, "damaged", 0600), IsOk());
  Start(config);
  v1::SelectResponse selection;
  EXPECT_TRUE(Select("good", selection).ok());
  const grpc::Status refused = Select("bad", selection);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(refused.error_message(),
              AllOf(HasSubstr("model bad is not open"), Not(HasSubstr("identity"))));
  const auto ready = HttpRequest(server_->http_listen(), "/readyz");
  EXPECT_EQ(ready.status, 200);
  EXPECT_THAT(ready.body, HasSubstr("bad: closed: "));
  const std::string metrics = HttpRequest(server_->http_listen(), "/metrics").body;
  EXPECT_THAT(metrics,
              AllOf(HasSubstr("bandana_model_not_learning{model=\"bad\",reason=\"closed\"} 1\n"),
                    HasSubstr("bandana_model_not_learning{model=\"good\",reason=\"closed\"} 0\n"),
                    HasSubstr("bandana_model_serving{model=\"bad\"} 0\n")));
  EXPECT_THAT(HttpRequest(server_->http_listen(), "/").body, HasSubstr("identity"));
  // Mended, it is taken up without a restart.
  ASSERT_THAT(WriteFileDurably(identity, *sound, 0600), IsOk());
  server_->process().Signal(SIGHUP);
  EXPECT_TRUE(Eventually([&] { return Select("bad", selection).ok(); }));
  ASSERT_EQ(server_->Terminate(), 0);
  EXPECT_THAT(server_->process().err(),
              AllOf(HasSubstr("the other models are served"),
                    HasSubstr("model bad does not learn as it should (closed)"),
                    HasSubstr("What to do: ")));
}

}  // namespace
}  // namespace bandana::testing

// Private contexts from the SDK into the real server: learnt, each report counted once through
// restarts of either side, epochs, bad input.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bandana/client.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_rng.h"
#include "tools/ctl/admin_client.h"
#include "tools/ctl/explain.h"

namespace bandana::testing {
namespace {

// Little noise: what is learnt can be seen after a few hundred events.
constexpr char kConfig[] =
    "models { name: 'contexts' dimension: 2 shared {} mode: LOCAL_CONTEXT\n"
    "  reward_min: -1 reward_max: 1 reward_stddev: 0.1 exploration { alpha: 0 }\n"
    "  refresh_interval {} privacy { epsilon: 8 }\n"
    "  reporting { one_per_decision: true } }\n"
    "models { name: 'gaussian' dimension: 2 shared {} mode: LOCAL_CONTEXT\n"
    "  reward_min: -1 reward_max: 1 reward_stddev: 0.1 exploration { alpha: 0 }\n"
    "  refresh_interval {} privacy { epsilon: 8 delta: 1e-6 mechanism: JOINT_GAUSSIAN }\n"
    "  reporting { one_per_decision: true } }\n"
    "models { name: 'logistic' dimension: 2 shared {} mode: LOCAL_CONTEXT link: LOGISTIC\n"
    "  reward_stddev: 0.5 prior_stddev: 3 exploration { alpha: 0 }\n"
    "  refresh_interval {} privacy { epsilon: 8 }\n"
    "  reporting { one_per_decision: true } }\n";

class ContextServerTest : public ::testing::Test {
 protected:
  void SetUp() override { StartServer(); }

  void StartServer() {
    auto server = ServerProcess::Start({.config = kConfig,
                                        .folder = server_folder_.path(),
                                        .listen = server_ ? server_->listen() : "127.0.0.1:0"});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    admin_ = *AdminClient::Connect(server_->listen(), absl::Seconds(60));
  }
  std::unique_ptr<Client> MustConnect(const std::string& model = "contexts") {
    ClientOptions options;
    options.target = server_->listen();
    options.model = model;
    options.select_deadline = absl::Seconds(20);
    options.policy.epsilon_max = 8;
    options.policy.delta_max = 1e-6;
    options.posterior_interval = absl::Milliseconds(20);
    auto store = DeviceStore::Open(device_folder_.File("device.db"));
    EXPECT_THAT(store, IsOk());
    if (!store.ok()) return nullptr;
    auto client = Client::Connect(options, *std::move(store));
    EXPECT_THAT(client, IsOk());
    return client.ok() ? *std::move(client) : nullptr;
  }
  v1::GetStatsResponse Stats(const std::string& model = "contexts") {
    const auto stats = admin_->GetStats(model);
    EXPECT_THAT(stats, IsOk());
    return stats.value_or(v1::GetStatsResponse());
  }
  // Two arms at a turning angle; reward = 0.8 x_0 - 0.4 x_1.
  static absl::Status Event(Client& client, int i) {
    const double a = 0.7 * i;
    const std::vector<double> arms = {std::cos(a), std::sin(a), -std::sin(a), std::cos(a)};
    auto selection = client.Select("u", Arms::Inline(arms));
    if (!selection.ok()) return selection.status();
    const double* x = &arms[2 * selection->arms[0].position];
    return client.Report(*selection, 0.8 * x[0] - 0.4 * x[1]);
  }
  // Mean rewards of the arms (1, 0) and (0, 1) as the server would tell a device.
  std::vector<double> Mean(Client& client, std::uint64_t version) {
    std::vector<double> means(2);
    for (int i = 0; i < 500; ++i) {
      const std::vector<double> arms = {1, 0, 0, 1};
      const auto selection = client.Select("u", Arms::Inline(arms), 2);
      EXPECT_THAT(selection, IsOk());
      if (!selection.ok()) break;
      for (const RankedArm& arm : selection->arms) means[arm.position] = arm.mean;
      if (selection->posterior_version >= version) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return means;
  }

  const TempDir server_folder_;
  const TempDir device_folder_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<AdminClient> admin_;
};

TEST_F(ContextServerTest, WhatDevicesSeeIsLearntAndChosenByOnTheDevice) {
  for (const char* model : {"contexts", "gaussian"}) {
    {
      const auto client = MustConnect(model);
      for (int i = 0; i < 600; ++i) ASSERT_THAT(Event(*client, i), IsOk());
      ASSERT_TRUE(client->Flush(absl::Seconds(60)));
      EXPECT_EQ(client->Stats().reports_applied, 600);
      EXPECT_EQ(client->Spent("u")->epsilon_event, 8);
      const std::vector<double> mean = Mean(*client, Stats(model).log_sequence());
      EXPECT_GT(mean[0], 0.2) << model;
      EXPECT_LT(mean[1], 0.1) << model;
    }
    EXPECT_EQ(Stats(model).reports_applied(), 600);
    const auto ledger = admin_->GetLedger(model);
    ASSERT_THAT(ledger, IsOk());
    EXPECT_EQ(ledger->epsilon_spent_event(), 8);
    EXPECT_EQ(ledger->events(), 600);
  }
}

// theta = (3, -3): of the arms (1, 0) and (0, 1) one is rewarded with probability 0.95, one with
// 0.05.
TEST_F(ContextServerTest, LogisticRewardsAreLearntAsProbabilities) {
  constexpr int kEvents = 700;
  const auto client = MustConnect("logistic");
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(client->model().link, "logistic");
  testing::TestRng rng(11);
  for (int i = 0; i < kEvents; ++i) {
    const double a = 0.7 * i;
    const std::vector<double> arms = {std::cos(a), std::sin(a), -std::sin(a), std::cos(a)};
    const auto selection = client->Select("u", Arms::Inline(arms));
    ASSERT_THAT(selection, IsOk());
    const double* x = &arms[2 * selection->arms[0].position];
    const double expected = 1 / (1 + std::exp(-3 * x[0] + 3 * x[1]));
    ASSERT_THAT(client->Report(*selection, rng.Uniform() < expected ? 1 : 0), IsOk());
  }
  ASSERT_TRUE(client->Flush(absl::Seconds(60)));
  EXPECT_EQ(Stats("logistic").reports_applied(), kEvents);
  const std::vector<double> mean = Mean(*client, Stats("logistic").log_sequence());
  EXPECT_NEAR(mean[0], 0.95, 0.1);
  EXPECT_NEAR(mean[1], 0.05, 0.1);
}

TEST_F(ContextServerTest, OperatorsAreToldWhatRunsAndWhy) {
  const auto models = *admin_->ListModels();
  ASSERT_EQ(models.models_size(), 3);
  for (const v1::ModelDescription& model : models.models()) {
    const std::string name = model.model().model();
    const auto text = Explain(model);
    ASSERT_THAT(text, IsOk());
    EXPECT_THAT(*text, HasSubstr(name + ": LOCAL_CONTEXT, " +
                                 (name == "gaussian" ? "JOINT_GAUSSIAN" : "PRIVUNIT")));
    EXPECT_THAT(*text, HasSubstr("* privunit"));
    EXPECT_EQ(text->find("logistic in x . theta") != std::string::npos, name == "logistic");
  }
}

TEST_F(ContextServerTest, EveryReportCountsOnceThroughServersThatAreKilled) {
  const auto client = MustConnect();
  ASSERT_NE(client, nullptr);
  std::atomic<bool> done{false};
  int events = 0;
  // A selection needs no server, and a report waits in the store.
  std::thread device([&] {
    for (; !done || events < 200; ++events) ASSERT_THAT(Event(*client, events), IsOk());
  });
  for (int i = 0; i < 3; ++i) {  // here: a server dies with the thread that started it
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    server_->Kill();
    StartServer();
  }
  done = true;
  device.join();
  ASSERT_TRUE(client->Flush(absl::Seconds(60)));
  const auto stats = client->Stats();
  EXPECT_EQ(stats.reports_applied + stats.reports_duplicate, events);
  EXPECT_EQ(stats.reports_rejected, 0);
  EXPECT_EQ(Stats().reports_applied(), events);
}

TEST_F(ContextServerTest, ADeviceThatRestartsSendsWhatItHadDrawn) {
  {
    const auto client = MustConnect();
    server_->Kill();
    for (int i = 0; i < 20; ++i) ASSERT_THAT(Event(*client, i), IsOk());
  }
  StartServer();
  const auto client = MustConnect();
  ASSERT_TRUE(client->Flush(absl::Seconds(60)));
  EXPECT_EQ(Stats().reports_applied(), 20);
  EXPECT_GE(client->Spent("u")->events, 20);
}

TEST_F(ContextServerTest, AnotherEpochRefusesWhatWasDrawnBeforeAndGoesOn) {
  const auto client = MustConnect();
  ASSERT_THAT(Event(*client, 0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(60)));
  ASSERT_THAT(admin_->OpenEpoch("contexts"), IsOk());
  for (int i = 0; i < 200 && Stats().reports_applied() < 2; ++i) {
    ASSERT_THAT(Event(*client, i), IsOk());
    ASSERT_TRUE(client->Flush(absl::Seconds(60)));
  }
  EXPECT_EQ(Stats().reports_applied(), 2);
  EXPECT_GE(Stats().reports_rejected().at("token_foreign"), 1);
}

TEST_F(ContextServerTest, RawRewardsAndSelectionsAreRefused) {
  const auto stub = v1::Recommender::NewStub(
      grpc::CreateChannel(server_->listen(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext select_context, report_context, submit_context;
  v1::SelectRequest select;
  select.set_model("contexts");
  select.set_user("u");
  select.mutable_arms()->mutable_inline_arms()->add_features(1);
  select.mutable_arms()->mutable_inline_arms()->add_features(0);
  v1::SelectResponse selected;
  EXPECT_EQ(stub->Select(&select_context, select, &selected).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  v1::ReportRequest report;
  report.set_model("contexts");
  report.add_outcomes()->set_reward(0.5);
  v1::ReportResponse reported;
  EXPECT_EQ(stub->Report(&report_context, report, &reported).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  v1::SubmitRequest submit;
  submit.set_model("contexts");
  submit.add_context_reports()->set_report_id("short");
  v1::SubmitResponse submitted;
  EXPECT_EQ(stub->Submit(&submit_context, submit, &submitted).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Stats().log_sequence(), 0);
}

}  // namespace
}  // namespace bandana::testing

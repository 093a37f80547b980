// A real server whose machine's clock is wrong for a while: what is decided then and afterwards is
// learnt, once, on each kind of model, with a restart, and with the log in PostgreSQL.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "bandana/v1/admin.grpc.pb.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "common/base/file.h"
#include "tests/support/plain_caller.h"
#include "tests/support/postgres_server.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

// From the Debian package faketime.
constexpr char kFakeTime[] = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

constexpr char kModels[] =
    "models { name: 'plain' dimension: 2 shared {} mode: NON_PRIVATE }\n"
    "models { name: 'windowed' dimension: 2 shared {} mode: NON_PRIVATE\n"
    "  reporting { reward_window { duration { seconds: 2 } default_reward: 0.25 } } }\n"
    "models { name: 'central' dimension: 2 shared {} mode: CENTRAL_REWARD\n"
    "  privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER\n"
    "    counter { horizon: 1000 steps_max: 1000 } }\n"
    "  reporting { reward_window { duration { seconds: 2 } default_reward: 0.25 grace {} } } }\n"
    "models { name: 'local' dimension: 2 shared {} mode: LOCAL_REWARD\n"
    "  privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } reporting { one_per_decision: true } "
    "}\n";
const char* const kNames[] = {"plain", "windowed", "central", "local"};

class ClockProcessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (access(kFakeTime, R_OK) != 0) GTEST_SKIP() << "no libfaketime here (package faketime)";
  }

  // The server's wall clock is so many seconds ahead from now on; its steady clock is not.
  void SetClock(std::int64_t seconds) {
    const std::string next = folder_.File("clock.next");
    std::ofstream(next) << (seconds < 0 ? "" : "+") << seconds << "\n";
    ASSERT_EQ(std::rename(next.c_str(), folder_.File("clock").c_str()), 0);
  }

  void Start(const std::string& more = "") {
    setenv("LD_PRELOAD", kFakeTime, 1);
    setenv("FAKETIME_TIMESTAMP_FILE", folder_.File("clock").c_str(), 1);
    setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1", 1);
    setenv("FAKETIME_NO_CACHE", "1", 1);
    auto server = ServerProcess::Start({.config = kModels + more, .folder = folder_.path()});
    unsetenv("LD_PRELOAD");
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    caller_ = std::make_unique<PlainCaller>(server_->listen());
    admin_ = v1::Admin::NewStub(
        grpc::CreateChannel(server_->listen(), grpc::InsecureChannelCredentials()));
  }

  std::string Decide(const std::string& model) {
    v1::SelectResponse response;
    const grpc::Status status = caller_->Select(model, "0", response);
    EXPECT_TRUE(status.ok()) << model << ": " << status.error_message();
    ++decided_[model];
    return response.token();
  }
  v1::OutcomeCode Report(const std::string& model, const std::string& token) {
    v1::ReportResponse response;
    const grpc::Status status =
        model == "local" ? Submit(model, token, response) : caller_->Report(model, token, response);
    EXPECT_TRUE(status.ok()) << model << ": " << status.error_message();
    return response.results_size() == 1 ? response.results(0).code() : v1::OUTCOME_CODE_UNSPECIFIED;
  }
  grpc::Status Submit(const std::string& model, const std::string& token,
                      v1::ReportResponse& response) {
    v1::GetModelRequest asked;
    asked.set_model(model);
    v1::GetModelResponse policy;
    grpc::ClientContext asking;
    EXPECT_TRUE(caller_->stub().GetModel(&asking, asked, &policy).ok());
    v1::SubmitRequest request;
    request.set_model(model);
    request.set_policy_hash(policy.policy_hash());
    request.add_reports()->set_token(token);
    v1::SubmitResponse answer;
    grpc::ClientContext context;
    const grpc::Status status = caller_->stub().Submit(&context, request, &answer);
    response.mutable_results()->Swap(answer.mutable_results());
    return status;
  }
  void DecideAndReport(const char* when) {
    for (const std::string model : kNames) {
      EXPECT_EQ(Report(model, Decide(model)), v1::APPLIED) << model << " " << when;
    }
  }
  v1::GetStatsResponse Stats(const std::string& model) {
    grpc::ClientContext context;
    v1::GetStatsRequest request;
    request.set_model(model);
    v1::GetStatsResponse stats;
    EXPECT_TRUE(admin_->GetStats(&context, request, &stats).ok());
    return stats;
  }
  // Each decision, once, when the windows have closed.
  void ExpectEachOnce() {
    for (const std::string model : kNames) {
      v1::GetStatsResponse stats;
      for (int i = 0; i < 100; ++i) {
        stats = Stats(model);
        if (stats.reports_applied() >= decided_[model] && stats.decisions_waiting() == 0) break;
        absl::SleepFor(absl::Milliseconds(100));
      }
      EXPECT_EQ(stats.reports_applied(), decided_[model]) << model;
      EXPECT_EQ(stats.decisions_waiting(), 0) << model;
      EXPECT_TRUE(stats.reports_rejected().empty()) << model << stats.DebugString();
    }
  }
  // The server looks at its clock every second.
  void ExpectRefusals(int count) {
    int refusals = -1;
    for (int i = 0; i < 100 && refusals != count; ++i) {
      refusals = Stats("plain").refusals_size();
      if (refusals != count) absl::SleepFor(absl::Milliseconds(100));
    }
    EXPECT_EQ(refusals, count);
  }
  // Jumps while it runs, each for `time`, then one across a restart.
  void RunAll(const std::string& more, absl::Duration time) {
    SetClock(0);
    Start(more);
    DecideAndReport("before");
    for (const std::int64_t hours : {1, 48, 24 * 365, -1}) {
      SetClock(3600 * hours);
      DecideAndReport("while the clock is wrong");
      absl::SleepFor(time);
      ExpectRefusals(1);
      DecideAndReport("before it is right");
      SetClock(0);
      DecideAndReport("afterwards");
      ExpectRefusals(0);
    }
    ExpectEachOnce();
    EXPECT_THAT(server_->process().err() + server_->process().out(),
                HasSubstr("ahead of the model's time"));
    for (const std::int64_t hours : {48, 24 * 365, -1}) {
      SCOPED_TRACE(hours);
      SetClock(3600 * hours);
      EXPECT_EQ(server_->Terminate(), 0);
      Start(more);
      DecideAndReport("after a start under a wrong clock");
      ExpectEachOnce();
      SetClock(0);
      DecideAndReport("once it is right");
      EXPECT_EQ(server_->Terminate(), 0);
      Start(more);
      DecideAndReport("after the next start");
      ExpectEachOnce();
      for (const std::string model : kNames) EXPECT_EQ(Stats(model).refusals_size(), 0) << model;
    }
    EXPECT_EQ(server_->Terminate(), 0);
  }

  const TempDir folder_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<PlainCaller> caller_;
  std::unique_ptr<v1::Admin::Stub> admin_;
  std::map<std::string, std::uint64_t> decided_;
};

// The time of a jump, in seconds, may be given: the closing show takes 10.
absl::Duration JumpTime() {
  const char* const seconds = std::getenv("BANDANA_TEST_JUMP_SECONDS");
  return absl::Seconds(seconds == nullptr ? 1 : std::atoi(seconds)) + absl::Milliseconds(200);
}

TEST_F(ClockProcessTest, AWrongClockLosesNothing) { RunAll("", JumpTime()); }

TEST_F(ClockProcessTest, AnOperatorSaysThatTheClockIsRight) {
  SetClock(0);
  Start();
  EXPECT_EQ(Report("plain", Decide("plain")), v1::APPLIED);
  SetClock(48 * 3600);
  ExpectRefusals(1);
  v1::ConfirmClockRequest request;
  v1::ConfirmClockResponse response;
  const auto confirm = [&](const char* model) {
    request.set_model(model);
    grpc::ClientContext context;
    return admin_->ConfirmClock(&context, request, &response).error_code();
  };
  EXPECT_EQ(confirm("nobody"), grpc::StatusCode::NOT_FOUND);
  ExpectRefusals(1);
  EXPECT_EQ(confirm("plain"), grpc::StatusCode::OK);
  ExpectRefusals(0);
  EXPECT_EQ(Report("plain", Decide("plain")), v1::APPLIED);
  EXPECT_EQ(server_->Terminate(), 0);
}

TEST_F(ClockProcessTest, AWrongClockLosesNothingWithPostgresql) {
  if (!PostgresServer::Available()) {
    GTEST_SKIP() << "no PostgreSQL 15 here (package postgresql)";
  }
  PostgresServer database;
  ASSERT_THAT(WriteFileDurably(folder_.File("log.key"), std::string(64, '7'), 0600), IsOk());
  RunAll(
      "log { postgresql { connection: \"" + database.connection() + "\" key_file: 'log.key' } }\n",
      JumpTime());
}

}  // namespace
}  // namespace bandana::testing

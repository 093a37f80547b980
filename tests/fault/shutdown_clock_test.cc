// Listeners that are shut down while the machine's wall clock is set: how long they wait is no
// matter of it. The test runs itself again under libfaketime.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <string>
#include <thread>

#include "bandana/v1/recommender.grpc.pb.h"
#include "server/api/api_server.h"
#include "server/service/transport/grpc_server.h"
#include "tests/integration/api_handlers.h"
#include "tests/support/http_request.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

// From the Debian package faketime.
constexpr char kFakeTime[] = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
constexpr char kClockFile[] = "FAKETIME_TIMESTAMP_FILE";

class ShutdownClockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv(kClockFile) == nullptr) {
      GTEST_SKIP() << "no libfaketime here (package faketime)";
    }
    SetClock("+0");
    handlers_.model.set_dimension(2);
    handlers_.model.set_mode(v1::NON_PRIVATE);
    handlers_.hold = [this](std::function<void()> finish) {
      late_ = std::move(finish);
      held_ = true;
    };
  }
  void TearDown() override {
    SetClock("+0");
    if (late_) late_();
  }

  // In place of the file before, so that nobody reads half of it.
  static void SetClock(const std::string& offset) {
    const std::string file = std::getenv(kClockFile);
    std::ofstream(file + ".next") << offset << "\n";
    ASSERT_EQ(std::rename((file + ".next").c_str(), file.c_str()), 0);
  }

  // Shuts the server down while a report is held, and sets the clock as soon as it refuses calls.
  template <typename Server, typename Refuses>
  void ShutDownUnder(const std::string& offset, Server& server, Refuses refuses) {
    while (!held_) std::this_thread::yield();
    const auto began = std::chrono::steady_clock::now();
    std::future<void> down =
        std::async(std::launch::async, [&] { server.Shutdown(absl::Milliseconds(500)); });
    while (!refuses()) std::this_thread::yield();
    SetClock(offset);
    EXPECT_EQ(down.wait_for(std::chrono::seconds(20)), std::future_status::ready);
    EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(500));
    SetClock("+0");
  }

  ApiHandlers handlers_;
  std::function<void()> late_;
  std::atomic<bool> held_{false};
};

class SetClocks : public ShutdownClockTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(SetClocks, GrpcWaitsAsLong) {
  auto server = server::GrpcServer::Start({.listen = "127.0.0.1:0"}, handlers_);
  ASSERT_THAT(server, IsOk());
  const auto stub = v1::Recommender::NewStub(
      grpc::CreateChannel((*server)->address(), grpc::InsecureChannelCredentials()));
  std::thread waiting([&] {
    grpc::ClientContext context;
    v1::ReportRequest request;
    request.add_outcomes()->set_token("t");
    v1::ReportResponse response;
    EXPECT_EQ(stub->Report(&context, request, &response).error_code(),
              grpc::StatusCode::UNAVAILABLE);
  });
  ShutDownUnder(GetParam(), **server, [&] {
    grpc::ClientContext context;
    v1::GetModelResponse response;
    return !stub->GetModel(&context, {}, &response).ok();
  });
  waiting.join();
}

TEST_P(SetClocks, HttpWaitsAsLong) {
  auto server = server::ApiServer::Start({.listen = "127.0.0.1:0"}, handlers_);
  ASSERT_THAT(server, IsOk());
  std::thread waiting([&] {
    const HttpSent report{.path = "/v1/models/m:report",
                          .headers = {"Content-Type: application/json"},
                          .body = R"({"outcomes": [{"token": "dG9rZW4=", "reward": 1}]})"};
    EXPECT_EQ(Send((*server)->address(), report).status, 503);
  });
  ShutDownUnder(GetParam(), **server,
                [&] { return HttpRequest((*server)->address(), "/v1/models/m").status != 200; });
  waiting.join();
}

INSTANTIATE_TEST_SUITE_P(ByAnHour, SetClocks, ::testing::Values("+3600", "-3600"),
                         [](const auto& info) {
                           return std::string(info.param[0] == '+' ? "Ahead" : "Back");
                         });

}  // namespace
}  // namespace bandana::testing

int main(int argc, char** argv) {
  using bandana::testing::kClockFile;
  using bandana::testing::kFakeTime;
  if (std::getenv("LD_PRELOAD") == nullptr && access(kFakeTime, R_OK) == 0) {
    setenv("LD_PRELOAD", kFakeTime, 1);
    const std::string clock = "/tmp/bandana-clock-" + std::to_string(getpid());
    setenv(kClockFile, clock.c_str(), 1);
    setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1", 1);
    setenv("FAKETIME_NO_CACHE", "1", 1);
    execv("/proc/self/exe", argv);
  }
  ::testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  if (const char* const clock = std::getenv(kClockFile); clock != nullptr) std::remove(clock);
  return failed;
}

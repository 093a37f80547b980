// The real server on a disk that is full: reports are answered UNAVAILABLE, selections go on, and
// when there is space again reports are taken without a restart. Needs the right to mount a tmpfs;
// without it the injected full disk of hosted_model_admin_test remains, and this is said.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "tests/support/http_request.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

constexpr char kConfig[] =
    "models { name: 'plain' dimension: 2 shared {} mode: NON_PRIVATE\n"
    "  reporting { one_per_decision: true } }\n"
    "models { name: 'central' dimension: 2 shared {} mode: CENTRAL_REWARD refresh_interval {}\n"
    "  reporting { one_per_decision: true }\n"
    "  privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER counter { horizon: 1000 } } }\n";

class FullDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::mount("tmpfs", disk_.path().c_str(), "tmpfs", 0, "size=6m,mode=0700") != 0) {
      std::printf("skipped: this machine does not let us mount a tmpfs of 6 MB\n");
      GTEST_SKIP();
    }
    mounted_ = true;
    auto server = ServerProcess::Start({.config = kConfig, .folder = disk_.path()});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    stub_ = v1::Recommender::NewStub(
        grpc::CreateChannel(server_->listen(), grpc::InsecureChannelCredentials()));
  }
  void TearDown() override {
    server_.reset();
    if (mounted_) ::umount2(disk_.path().c_str(), MNT_DETACH);
  }

  std::string Select(const std::string& model) {
    v1::SelectRequest request;
    request.set_model(model);
    request.set_user("u");
    for (const double x : {1.0, 0.0, 0.0, 1.0}) {
      request.mutable_arms()->mutable_inline_arms()->add_features(x);
    }
    v1::SelectResponse response;
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
    const grpc::Status status = stub_->Select(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.token();
  }
  // OK when it was applied.
  grpc::Status Report(const std::string& model, const std::string& token) {
    v1::ReportRequest request;
    request.set_model(model);
    request.add_outcomes()->set_token(token);
    request.mutable_outcomes(0)->set_reward(0.5);
    v1::ReportResponse response;
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
    const grpc::Status status = stub_->Report(&context, request, &response);
    if (status.ok() && response.results(0).code() != v1::APPLIED) {
      return {grpc::StatusCode::INTERNAL, v1::OutcomeCode_Name(response.results(0).code())};
    }
    return status;
  }
  // Takes all the space there is.
  void FillDisk() {
    std::ofstream filler(disk_.File("filler"), std::ios::binary);
    const std::string block(4096, 'x');
    while (filler.write(block.data(), block.size()).flush()) continue;
  }

  const TempDir disk_;
  bool mounted_ = false;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<v1::Recommender::Stub> stub_;
};

TEST_F(FullDiskTest, ReportsWaitSelectionsGoOnAndSpaceHeals) {
  for (const std::string model : {"plain", "central"}) {
    SCOPED_TRACE(model);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(Report(model, Select(model)).ok());
    FillDisk();
    // The last blocks of the files may still have room for a few.
    std::string refused;
    for (int i = 0; i < 2000 && refused.empty(); ++i) {
      const std::string token = Select(model);
      const grpc::Status status = Report(model, token);
      if (status.ok()) continue;
      EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
      refused = token;
    }
    ASSERT_FALSE(refused.empty()) << "the disk never became full";
    // Longer than the interval at which a server looks after itself.
    const absl::Time until = absl::Now() + absl::Seconds(2.5);
    while (absl::Now() < until) {
      EXPECT_FALSE(Select(model).empty());
      absl::SleepFor(absl::Milliseconds(50));
    }
    EXPECT_EQ(HttpRequest(server_->http_listen(), "/readyz").status, 200);
    // Small transactions may still fit now and then: it is said while one has just failed.
    bool said = false;
    for (int i = 0; i < 500 && !said; ++i) {
      (void)Report(model, Select(model));
      said =
          HttpRequest(server_->http_listen(), "/readyz").body.find("no space") != std::string::npos;
    }
    EXPECT_TRUE(said);
    ASSERT_TRUE(server_->process().Running()) << server_->process().err();

    std::remove(disk_.File("filler").c_str());
    bool healed = false;
    for (int i = 0; i < 1000 && !healed; ++i) {
      healed = Report(model, refused).ok();
      absl::SleepFor(absl::Milliseconds(10));
    }
    EXPECT_TRUE(healed);
    std::string ready;
    for (int i = 0; i < 500 && ready != "ready\n"; ++i) {
      absl::SleepFor(absl::Milliseconds(10));
      ready = HttpRequest(server_->http_listen(), "/readyz").body;
    }
    EXPECT_EQ(ready, "ready\n");
  }
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().err();
}

}  // namespace
}  // namespace bandana::testing

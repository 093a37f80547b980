// The lift of models of a real server: values of its own decisions, or the reason that there are
// none.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "tests/support/http_request.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_rng.h"
#include "tools/ctl/admin_client.h"

namespace bandana::testing {
namespace {

constexpr char kConfig[] = R"(
models {
  name: 'drawn' dimension: 3 shared {} mode: NON_PRIVATE
  reporting { one_per_decision: true }
  policy { uniform_mix { uniform_share: 0.5 } }
  decision_log { contexts: false }
}
models { name: 'best' dimension: 3 shared {} mode: NON_PRIVATE
         reporting { one_per_decision: true } decision_log {} }
)";

class LiftServerTest : public ::testing::Test {
 protected:
  void Start() {
    auto server = ServerProcess::Start({.config = kConfig,
                                        .folder = folder_.path(),
                                        .listen = server_ ? server_->listen() : "127.0.0.1:0"});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    admin_ = *AdminClient::Connect(server_->listen(), absl::Seconds(60));
    stub_ = v1::Recommender::NewStub(
        grpc::CreateChannel(server_->listen(), grpc::InsecureChannelCredentials()));
  }
  // Three arms, of which the second brings 0.8 and the others 0.2.
  void Decide(int decisions) {
    for (int i = 0; i < decisions; ++i) {
      v1::SelectRequest request;
      request.set_model("drawn");
      request.set_user("ann");
      for (const double x : {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}) {
        request.mutable_arms()->mutable_inline_arms()->add_features(x);
      }
      v1::SelectResponse response;
      grpc::ClientContext select;
      ASSERT_TRUE(stub_->Select(&select, request, &response).ok());
      v1::ReportRequest report;
      report.set_model("drawn");
      report.add_outcomes()->set_token(response.token());
      report.mutable_outcomes(0)->set_reward(
          rng_.Uniform() < (response.positions(0) == 1 ? 0.8 : 0.2) ? 1 : 0);
      v1::ReportResponse reported;
      grpc::ClientContext context;
      ASSERT_TRUE(stub_->Report(&context, report, &reported).ok());
    }
  }
  v1::LiftStats LiftOf(const std::string& model) { return admin_->GetStats(model)->lift(); }
  // Once all decisions are judged.
  v1::LiftStats LiftAfter(std::uint64_t decisions) {
    for (int attempt = 0; attempt < 2000; ++attempt) {
      v1::LiftStats lift = LiftOf("drawn");
      if (lift.first_decisions() + lift.decisions() >= decisions) return lift;
      absl::SleepFor(absl::Milliseconds(5));
    }
    ADD_FAILURE() << "not judged";
    return {};
  }

  TempDir folder_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<AdminClient> admin_;
  std::unique_ptr<v1::Recommender::Stub> stub_;
  TestRng rng_{5};
};

TEST_F(LiftServerTest, APolicyIsJudgedAsItDecides) {
  Start();
  EXPECT_THAT(LiftOf("best").none(), ::testing::HasSubstr("arms are chosen without chance"));
  EXPECT_EQ(LiftOf("drawn").none(), "");
  Decide(1500);
  const v1::LiftStats lift = LiftAfter(1500);
  EXPECT_EQ(lift.first_decisions(), 500u);
  EXPECT_EQ(lift.decisions(), 1000u);
  EXPECT_EQ(lift.waiting() + lift.left_out(), 0u);
  EXPECT_EQ(lift.points_size(), 10);
  ASSERT_EQ(lift.values_size(), 3);
  // Half of the decisions are uniform. Of the others nearly all take the second arm.
  EXPECT_EQ(lift.values(0).against(), "");
  EXPECT_LT(lift.values(0).low(), 0.6);
  EXPECT_GT(lift.values(0).high(), 0.58);
  EXPECT_EQ(lift.values(1).against(), "uniform");
  EXPECT_GT(lift.values(1).low(), 0);
  EXPECT_LT(lift.values(1).low(), 0.2);
  EXPECT_GT(lift.values(1).high(), 0.18);
  EXPECT_EQ(lift.values(2).against(), "first");
  EXPECT_GT(lift.values(2).low(), 0);
  EXPECT_THAT(HttpRequest(server_->http_listen(), "/models/drawn").body,
              ::testing::HasSubstr("Above any arm at random"));
  EXPECT_THAT(HttpRequest(server_->http_listen(), "/metrics").body,
              ::testing::HasSubstr("bandana_model_lift{model=\"drawn\",bound=\"low\""));
}

// A start begins anew, and nothing of the lift is in the model's folder.
TEST_F(LiftServerTest, ARestartForgetsIt) {
  Start();
  Decide(30);
  EXPECT_EQ(LiftAfter(30).first_decisions(), 30u);
  server_->Kill();
  Start();
  EXPECT_EQ(LiftOf("drawn").first_decisions(), 0u);
  Decide(10);
  EXPECT_EQ(LiftAfter(10).first_decisions(), 10u);
}

}  // namespace
}  // namespace bandana::testing

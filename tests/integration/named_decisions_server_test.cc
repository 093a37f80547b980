// Named, deferred and listed decisions of a real server, over the wire, and after its restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/support/http_request.h"
#include "tests/support/plain_caller.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

constexpr char kConfig[] =
    "models { name: 'shop' dimension: 2 shared {} mode: NON_PRIVATE\n"
    "  policy { thompson {} }\n"
    "  reporting { reward_window { duration { seconds: 600 } } } }\n";

class NamedDecisionsServerTest : public ::testing::Test {
 protected:
  void SetUp() override { Start(); }
  void Start() {
    auto server = ServerProcess::Start({.config = kConfig, .folder = folder_.path()});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    caller_ = std::make_unique<PlainCaller>(server_->listen());
  }
  static v1::SelectRequest Request(const std::string& id) {
    v1::SelectRequest request;
    request.set_model("shop");
    request.set_user("ann");
    request.set_decision_id(id);
    for (const double x : {1.0, 0.0, 0.0, 1.0, 0.6, 0.8}) {
      request.mutable_arms()->mutable_inline_arms()->add_features(x);
    }
    return request;
  }
  v1::SelectResponse Select(const v1::SelectRequest& request) {
    v1::SelectResponse response;
    grpc::ClientContext context;
    const grpc::Status status = caller_->stub().Select(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  v1::OutcomeResult Report(const std::string& id, std::uint32_t slot = 0) {
    v1::ReportRequest request;
    request.set_model("shop");
    v1::Outcome& outcome = *request.add_outcomes();
    outcome.set_decision_id(id);
    outcome.set_slot(slot);
    outcome.set_reward(1);
    v1::ReportResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(caller_->stub().Report(&context, request, &response).ok());
    return response.results_size() == 1 ? response.results(0) : v1::OutcomeResult();
  }
  v1::OutcomeResult Activate(const std::string& id) {
    v1::ActivateRequest request;
    request.set_model("shop");
    request.add_decision_ids(id);
    v1::ActivateResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(caller_->stub().Activate(&context, request, &response).ok());
    return response.results_size() == 1 ? response.results(0) : v1::OutcomeResult();
  }

  const TempDir folder_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<PlainCaller> caller_;
};

TEST_F(NamedDecisionsServerTest, AnIdOutlivesARestart) {
  const v1::SelectResponse first = Select(Request("a"));
  ASSERT_EQ(first.propensities_size(), 1);
  EXPECT_GT(first.propensities(0), 0);
  EXPECT_THAT(HttpRequest(server_->http_listen(), "/metrics").body,
              HasSubstr("bandana_decision_ids 1\n"));
  EXPECT_EQ(server_->Terminate(), 0);
  Start();
  EXPECT_EQ(Select(Request("a")).SerializeAsString(), first.SerializeAsString());
  EXPECT_EQ(Report("a").code(), v1::APPLIED);
  EXPECT_EQ(Report("a").code(), v1::DUPLICATE);
  v1::SelectRequest other = Request("a");
  other.set_user("bob");
  v1::SelectResponse response;
  grpc::ClientContext context;
  EXPECT_EQ(caller_->stub().Select(&context, other, &response).error_code(),
            grpc::StatusCode::ALREADY_EXISTS);
}

TEST_F(NamedDecisionsServerTest, SlotsAreDeferredAndActivatedByTheirName) {
  v1::SelectRequest request = Request("list");
  request.set_slots(2);
  request.set_deferred(true);
  EXPECT_EQ(Select(request).slot_tokens_size(), 2);
  EXPECT_EQ(Report("list", 1).reason(), v1::NOT_ACTIVATED);
  EXPECT_EQ(Activate("list").code(), v1::APPLIED);
  EXPECT_EQ(Activate("list").code(), v1::APPLIED);
  EXPECT_EQ(Report("list", 1).code(), v1::APPLIED);
  EXPECT_EQ(Report("list", 0).code(), v1::APPLIED);
  EXPECT_EQ(Report("list", 2).reason(), v1::DECISION_UNKNOWN);
  EXPECT_EQ(Activate("no such").reason(), v1::DECISION_UNKNOWN);
}

}  // namespace
}  // namespace bandana::testing

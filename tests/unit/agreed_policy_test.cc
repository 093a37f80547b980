// The policy that a caller agreed to, in each call of Recommender.
#include "server/service/agreed_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/service/recommender.h"
#include "tests/support/service_fixture.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

class AgreedPolicyTest : public ::bandana::testing::ServiceTest {
 protected:
  static v1::SelectRequest Request(const std::vector<double>& features, std::uint32_t top_k = 0) {
    v1::SelectRequest request;
    request.set_model("m");
    request.set_user("u");
    request.set_top_k(top_k);
    request.mutable_arms()->mutable_inline_arms()->mutable_features()->Add(features.begin(),
                                                                           features.end());
    return request;
  }
  absl::Status Select(const v1::SelectRequest& request) {
    response_.Clear();
    return recommender_->Select(request, response_);
  }
  std::string Token() {
    EXPECT_THAT(Select(Request({1, 0, 0, 1})), IsOk());
    return response_.token();
  }
  static v1::ReportRequest ReportOf(const std::vector<std::string>& tokens) {
    v1::ReportRequest request;
    request.set_model("m");
    for (const std::string& token : tokens) {
      v1::Outcome& outcome = *request.add_outcomes();
      outcome.set_token(token);
      outcome.set_reward(0.5);
    }
    return request;
  }
  absl::Status Report(const v1::ReportRequest& request) {
    v1::ReportResponse response;
    absl::Status result = absl::UnknownError("not finished");
    recommender_->Report(request, response,
                         [&](absl::Status status) { result = std::move(status); });
    return result;
  }

  FakeModel& model_ = registry_.Add(PlainSpec("m", 2));
  std::unique_ptr<Handlers> recommender_ = MakeRecommender({}, registry_, tokens_, clock_);
  v1::SelectResponse response_;
};

// Nothing else of such a request is read: not even how wrong it is.
TEST_F(AgreedPolicyTest, EachCallRefusesAnotherPolicyBeforeItIsRead) {
  const std::string present(AsChars(model_.policy()));
  std::string other = present;
  other.front() = static_cast<char>(other.front() ^ 1);
  const auto differs = StatusIs(Code::kFailedPrecondition, "policy_hash: the model's policy");

  v1::SelectRequest select = Request({std::nan("")}, 1000);
  select.set_policy_hash(other);
  EXPECT_THAT(Select(select), differs);
  select = Request({1, 0});
  select.set_policy_hash("short");
  EXPECT_THAT(Select(select), StatusIs(Code::kInvalidArgument, "policy_hash: must have 32 bytes"));
  select.set_policy_hash(present);
  EXPECT_THAT(Select(select), IsOk());

  v1::BatchSelectRequest batch;
  *batch.add_decisions() = Request({1, 0});
  *batch.add_decisions() = select;
  batch.add_decisions()->CopyFrom(select);
  batch.mutable_decisions(2)->set_policy_hash(other);
  v1::BatchSelectResponse results;
  ASSERT_THAT(recommender_->BatchSelect(batch, results), IsOk());
  EXPECT_EQ(results.results(0).code(), 0);
  EXPECT_EQ(results.results(1).code(), 0);
  EXPECT_EQ(results.results(2).code(), static_cast<int>(Code::kFailedPrecondition));

  v1::ReportRequest report = ReportOf({"forged", Token()});
  report.mutable_outcomes(0)->set_decision_id("both");
  report.set_policy_hash(other);
  EXPECT_THAT(Report(report), differs);
  EXPECT_EQ(model_.rejected(v1::TOKEN_INVALID), 0);
  EXPECT_THAT(model_.reported(), IsEmpty());
  report = ReportOf({Token()});
  report.set_policy_hash(present);
  EXPECT_THAT(Report(report), IsOk());
  EXPECT_EQ(model_.reported().size(), 1);

  v1::ActivateRequest activate;
  activate.set_model("m");
  activate.set_policy_hash(other);
  v1::ActivateResponse activated;
  absl::Status status;
  recommender_->Activate(activate, activated, [&](absl::Status s) { status = std::move(s); });
  EXPECT_THAT(status, differs);
}

// A decision that was named under a policy is not found by a caller with another one.
TEST_F(AgreedPolicyTest, ANamedDecisionIsNoWayRoundThePolicy) {
  v1::SelectRequest request = Request({1, 0, 0, 1});
  request.set_decision_id("first");
  ASSERT_THAT(Select(request), IsOk());
  request.set_policy_hash(std::string(32, 'x'));
  EXPECT_THAT(Select(request), StatusIs(Code::kFailedPrecondition, "policy_hash"));
}

// The model under the name may be a successor of one that hid its reports.
TEST_F(AgreedPolicyTest, ReportsForAnotherPolicyAreUnrecorded) {
  const std::string present(AsChars(model_.policy()));
  EXPECT_FALSE(recommender_->KeepsCallUnrecorded("m", ""));
  EXPECT_FALSE(recommender_->KeepsCallUnrecorded("m", present));
  EXPECT_TRUE(recommender_->KeepsCallUnrecorded("m", std::string(32, 'x')));
  EXPECT_TRUE(recommender_->KeepsCallUnrecorded("gone", present));
  EXPECT_FALSE(recommender_->KeepsCallUnrecorded("gone", ""));
}

}  // namespace
}  // namespace bandana::server

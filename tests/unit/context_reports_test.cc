// The reports that a server takes and refuses for a model whose contexts are private, over a fake
// model.
#include "server/service/context_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/promise/mechanism.h"
#include "server/service/recommender.h"
#include "server/service/tokens/token.h"
#include "server/service/tokens/token_keys.h"
#include "tests/support/service_fixture.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

ModelSpec ContextSpecOf(const std::string& name, MechanismId mechanism) {
  const Delta delta{mechanism == MechanismId::kJointGaussian ? 1e-6 : 0};
  ModelSpec spec = PrivateSpec(name, 2, Mode::kLocalContext, mechanism, delta);
  spec.public_spec.context = spec.public_spec.made->contexts()->spec();
  return spec;
}

class ContextReportTest : public ::bandana::testing::ServiceTest {
 protected:
  absl::Status Submit(const v1::SubmitRequest& request) {
    response_.Clear();
    absl::Status result = absl::UnknownError("not finished");
    recommender_->Submit(request, response_, [&](absl::Status status) { result = status; });
    return result;
  }
  static v1::SubmitRequest Empty(const FakeModel& model) {
    v1::SubmitRequest request;
    request.set_model(model.spec().public_spec.name);
    const Sha256Digest hash = model.spec().public_spec.PolicyHash();
    request.set_policy_hash(std::string(AsChars(hash)));
    return request;
  }
  v1::SubmitRequest Seeds(int count = 1) const {
    v1::SubmitRequest request = Empty(seeded_);
    for (int i = 0; i < count; ++i) {
      v1::ContextReport& report = *request.add_context_reports();
      report.set_report_id(std::string(16, static_cast<char>('a' + i)));
      report.set_epoch(7);
      report.set_seed(std::string(16, 's'));
    }
    return request;
  }
  v1::SubmitRequest Values(int count) const {
    v1::SubmitRequest request = Empty(gaussian_);
    v1::ContextReport& report = *request.add_context_reports();
    report.set_report_id(std::string(16, 'g'));
    for (int i = 0; i < count; ++i) report.add_values(i - 2);
    return request;
  }

  FakeModel& seeded_ = registry_.Add(ContextSpecOf("seeded", MechanismId::kPrivUnit));
  FakeModel& gaussian_ = registry_.Add(ContextSpecOf("gaussian", MechanismId::kJointGaussian));
  FakeModel& plain_ = registry_.Add(PlainSpec("plain", 2));
  std::unique_ptr<Handlers> recommender_ = MakeRecommender(
      {.arms_per_request_max = 5, .batch_decisions_max = 4}, registry_, tokens_, clock_);
  v1::SubmitResponse response_;
};

TEST_F(ContextReportTest, HandsSeedsAndIntegersToTheModel) {
  ASSERT_THAT(Submit(Seeds(3)), IsOk());
  ASSERT_EQ(response_.results_size(), 3);
  EXPECT_EQ(response_.results(2).code(), v1::APPLIED);
  ASSERT_EQ(seeded_.contexts().size(), 3);
  EXPECT_EQ(seeded_.contexts()[1].id[0], std::byte{'b'});
  EXPECT_EQ(seeded_.contexts()[1].epoch, 7);
  EXPECT_EQ(seeded_.contexts()[1].seed, std::string(16, 's'));
  ASSERT_THAT(Submit(Values(5)), IsOk());
  EXPECT_THAT(gaussian_.contexts()[0].values, ElementsAre(-2, -1, 0, 1, 2));
}

TEST_F(ContextReportTest, RefusesEveryOtherShape) {
  struct Case {
    std::string what;
    v1::SubmitRequest request;
  };
  std::vector<Case> cases;
  const auto add = [&](const std::string& what) -> v1::ContextReport& {
    cases.push_back({what, Seeds()});
    return *cases.back().request.mutable_context_reports(0);
  };
  cases.reserve(20);
  add("report_id").set_report_id(std::string(15, 'a'));
  add("report_id").clear_report_id();
  add("seed").set_seed(std::string(17, 's'));
  add("seed").clear_seed();
  add("values").add_values(1);
  cases.push_back({"values", Values(4)});
  cases.push_back({"values", Values(6)});
  cases.push_back({"seed", Values(5)});
  cases.back().request.mutable_context_reports(0)->set_seed(std::string(16, 's'));
  cases.push_back({"context_reports", Seeds(0)});
  cases.push_back({"context_reports", Seeds(5)});
  cases.push_back({"twice", Seeds(2)});
  cases.back().request.mutable_context_reports(1)->set_report_id(std::string(16, 'a'));
  cases.push_back({"policy_hash", Seeds()});
  cases.back().request.set_policy_hash("short");
  for (const Case& each : cases) {
    EXPECT_THAT(Submit(each.request), StatusIs(Code::kInvalidArgument, each.what)) << each.what;
  }
  EXPECT_TRUE(seeded_.contexts().empty());
  EXPECT_TRUE(gaussian_.contexts().empty());
}

TEST_F(ContextReportTest, RefusesWhateverCouldNameAUserOrADecision) {
  v1::SubmitRequest request = Seeds();
  request.add_reports()->set_token("t");
  EXPECT_THAT(Submit(request), StatusIs(Code::kInvalidArgument, "context_reports only"));
  request = Seeds();
  request.add_counter_reports()->set_stream(std::string(16, 's'));
  EXPECT_THAT(Submit(request), StatusIs(Code::kInvalidArgument, "context_reports only"));
  // Fields of a later version, in the request and in a report.
  request = Seeds();
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(100, "user-4711");
  EXPECT_THAT(Submit(request), StatusIs(Code::kInvalidArgument, "does not know"));
  request = Seeds();
  auto& report = *request.mutable_context_reports(0);
  report.GetReflection()->MutableUnknownFields(&report)->AddVarint(100, 1);
  EXPECT_THAT(Submit(request), StatusIs(Code::kInvalidArgument, "does not know"));
  EXPECT_TRUE(seeded_.contexts().empty());
}

TEST_F(ContextReportTest, SelectAndReportNameTheMode) {
  v1::SelectRequest select;
  select.set_model("seeded");
  select.set_user("u");
  select.mutable_arms()->mutable_inline_arms()->add_features(1);
  select.mutable_arms()->mutable_inline_arms()->add_features(0);
  v1::SelectResponse selected;
  EXPECT_THAT(recommender_->Select(select, selected),
              StatusIs(Code::kFailedPrecondition, "LOCAL_CONTEXT"));
  v1::BatchSelectRequest batch;
  *batch.add_decisions() = select;
  v1::BatchSelectResponse batched;
  ASSERT_THAT(recommender_->BatchSelect(batch, batched), IsOk());
  EXPECT_EQ(batched.results(0).code(), static_cast<int>(Code::kFailedPrecondition));
  EXPECT_FALSE(batched.results(0).has_selection());
  v1::ReportRequest report;
  report.set_model("seeded");
  report.add_outcomes()->set_reward(1);
  v1::ReportResponse reported;
  absl::Status status;
  recommender_->Report(report, reported, [&](absl::Status s) { status = s; });
  EXPECT_THAT(status, StatusIs(Code::kFailedPrecondition, "LOCAL_CONTEXT"));
}

TEST_F(ContextReportTest, ThePosteriorIsReadWithoutAUser) {
  v1::GetPosteriorRequest request;
  request.set_model("seeded");
  v1::GetPosteriorResponse response;
  ASSERT_THAT(recommender_->GetPosterior(request, response), IsOk());
  EXPECT_EQ(response.means_size(), 2);
  request.set_user("u");
  EXPECT_THAT(recommender_->GetPosterior(request, response),
              StatusIs(Code::kInvalidArgument, "user"));
}

TEST_F(ContextReportTest, OtherModelsTakeNoContextReports) {
  v1::SubmitRequest request = Seeds();
  request.set_model("plain");
  EXPECT_THAT(Submit(request), StatusIs(Code::kFailedPrecondition));
  request = Seeds();
  request.set_policy_hash(std::string(32, 'h'));
  EXPECT_THAT(Submit(request), StatusIs(Code::kFailedPrecondition, "policy"));
}

}  // namespace
}  // namespace bandana::server

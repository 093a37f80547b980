// Messages of delivery, coded by hand, against protobuf's bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "bandana/v1/recommender.pb.h"
#include "client/core/features.h"
#include "client/core/messages.h"
#include "client/core/report_bytes.h"

namespace bandana::device {
namespace {

TEST(WireReportsTest, TokenIsAddedLaterToTheSameReport) {
  v1::Outcome outcome;
  outcome.set_token("t");
  outcome.set_reward(0.25);
  EXPECT_EQ(ReplaceToken(OutcomeBytes("", 0, 0.25), "t"), outcome.SerializeAsString());
  v1::PerturbedReport report;
  report.set_output(3);
  EXPECT_EQ(ReplaceToken(report.SerializeAsString(), "t"), [&] {
    report.set_token("t");
    return report.SerializeAsString();
  }());
}

TEST(WireReportsTest, RequestsOfDeliveryAreProtobufsBytes) {
  v1::Outcome outcome;
  outcome.set_token("t");
  outcome.set_reward(0.25);
  v1::ReportRequest outcomes;
  outcomes.set_model("m");
  outcomes.set_policy_hash("hash");
  *outcomes.add_outcomes() = outcome;
  *outcomes.add_outcomes() = outcome;
  const std::string bytes = outcome.SerializeAsString();
  EXPECT_EQ(
      ReportsRequestBytes(kOutcomeForm, "m", "hash", std::vector<std::string_view>{bytes, bytes}),
      outcomes.SerializeAsString());
  v1::ActivateRequest activate;
  activate.set_model("m");
  activate.add_tokens("t");
  activate.set_policy_hash("hash");
  EXPECT_EQ(ActivateRequestBytes("m", "t", "hash"), activate.SerializeAsString());
  v1::SubmitRequest submit;
  submit.set_model("m");
  submit.set_policy_hash("hash");
  submit.add_reports()->set_token("t");
  const std::string report = submit.reports(0).SerializeAsString();
  EXPECT_EQ(ReportsRequestBytes(kPerturbedForm, "m", "hash", std::vector<std::string_view>{report}),
            submit.SerializeAsString());
  submit.clear_reports();
  submit.add_context_reports()->set_report_id("id");
  const std::string context = submit.context_reports(0).SerializeAsString();
  EXPECT_EQ(ReportsRequestBytes(kContextForm, "m", "hash", std::vector<std::string_view>{context}),
            submit.SerializeAsString());
  submit.clear_context_reports();
  v1::CounterReport& counter = *submit.add_counter_reports();
  counter.set_stream("stream");
  counter.set_step(2);
  counter.add_moment(3.5);
  counter.add_steps()->set_token("a");
  counter.add_steps()->set_shown(1);
  const std::vector<std::string> steps = {CounterReportBytes(std::vector<double>{1}, "a", 0),
                                          CounterReportBytes(std::vector<double>{3.5}, "", 1)};
  EXPECT_EQ(CounterRequestBytes(
                "m", "hash",
                JoinCounterSteps("stream", 2, std::vector<std::string_view>{steps[0], steps[1]})),
            submit.SerializeAsString());
  v1::BatchSelectRequest selects;
  v1::SelectRequest& select = *selects.add_decisions();
  select.set_model("m");
  select.set_user("u");
  select.set_top_k(1);
  select.set_policy_hash("hash");
  select.mutable_arms()->mutable_inline_arms()->add_features(0.5);
  select.mutable_arms()->mutable_inline_arms()->add_ids(7);
  std::string packed = PackFeatures(std::vector<double>{0.5});
  AppendArmIds(std::vector<std::uint32_t>{7}, packed);
  EXPECT_EQ(
      BatchRequestBytes(std::vector<std::string>{TokenRequestBytes("m", "u", packed, "hash")}),
      selects.SerializeAsString());
}

TEST(WireReportsTest, AnswersOfDeliveryAreRead) {
  v1::SubmitResponse response;
  response.add_results()->set_code(v1::APPLIED);
  response.add_results()->set_code(v1::REJECTED);
  response.mutable_results(1)->set_reason(v1::TOKEN_FOREIGN);
  response.add_counter_results()->set_code(v1::DUPLICATE);
  response.mutable_counter_results(0)->set_acknowledged_step(9);
  const auto outcomes = ReadOutcomes(response.SerializeAsString());
  ASSERT_TRUE(outcomes);
  ASSERT_EQ(outcomes->size(), 2);
  EXPECT_EQ((*outcomes)[0].code, OutcomeCode::kApplied);
  EXPECT_EQ((*outcomes)[1].code, OutcomeCode::kRejected);
  EXPECT_EQ((*outcomes)[1].reason, RejectReason::kTokenForeign);
  const auto counters = ReadCounterOutcomes(response.SerializeAsString());
  ASSERT_TRUE(counters);
  ASSERT_EQ(counters->size(), 1);
  EXPECT_EQ((*counters)[0].code, OutcomeCode::kDuplicate);
  EXPECT_EQ((*counters)[0].acknowledged_step, 9);
  v1::BatchSelectResponse tokens;
  tokens.add_results()->mutable_selection()->set_token("t");
  tokens.add_results()->set_code(9);
  const auto read = ReadTokens(tokens.SerializeAsString());
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2);
  EXPECT_EQ((*read)[0].token, "t");
  EXPECT_EQ((*read)[1].code, absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(ReadOutcomes("\x0a\x05"));  // cut
}

}  // namespace
}  // namespace bandana::device

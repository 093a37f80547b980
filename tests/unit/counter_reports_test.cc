// Submit of counter streams, over a fake model.
#include "server/service/counter_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/service/recommender.h"
#include "server/service/tokens/token.h"
#include "server/service/tokens/token_keys.h"
#include "tests/support/service_fixture.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

class CounterReportTest : public ::bandana::testing::ServiceTest {
 protected:
  static ModelSpec CounterSpecOf() {
    return PrivateSpec("local", 2, Mode::kLocalReward, MechanismId::kCounter, {1e-5});
  }
  std::string Token(const std::string& model = "m") {
    v1::SelectRequest request;
    request.set_model(model);
    request.set_user("u");
    request.set_top_k(2);
    for (const double x : {1, 0, 0, 1}) {
      request.mutable_arms()->mutable_inline_arms()->add_features(x);
    }
    v1::SelectResponse response;
    EXPECT_THAT(recommender_->Select(request, response), IsOk());
    return response.token();
  }
  absl::Status Submit(const v1::SubmitRequest& request) {
    submit_response_.Clear();
    absl::Status result = absl::UnknownError("not finished");
    recommender_->Submit(request, submit_response_,
                         [&](absl::Status status) { result = std::move(status); });
    return result;
  }
  v1::SubmitRequest Empty(const FakeModel& model) {
    v1::SubmitRequest request;
    request.set_model(model.spec().public_spec.name);
    const Sha256Digest hash = model.spec().public_spec.PolicyHash();
    request.set_policy_hash(std::string(AsChars(hash)));
    return request;
  }
  v1::SubmitRequest RequestOf(std::uint64_t step, std::vector<std::string> tokens) {
    v1::SubmitRequest request = Empty(counter_);
    v1::CounterReport& report = *request.add_counter_reports();
    report.set_stream(std::string(16, 's'));
    report.set_step(step);
    report.add_moment(0.5);
    report.add_moment(-1);
    for (const std::string& token : tokens) report.add_steps()->set_token(token);
    return request;
  }

  FakeModel& plain_ = registry_.Add(PlainSpec("m", 2));
  FakeModel& counter_ = registry_.Add(CounterSpecOf());
  std::unique_ptr<Handlers> recommender_ = MakeRecommender(
      {.arms_per_request_max = 5, .batch_decisions_max = 4}, registry_, tokens_, clock_);
  v1::SubmitResponse submit_response_;
};

TEST_F(CounterReportTest, HandsOpenedStepsToTheModel) {
  const std::string token = Token("local");
  v1::SubmitRequest request = RequestOf(7, {"forged", token});
  request.mutable_counter_reports(0)->mutable_steps(1)->set_shown(1);
  ASSERT_THAT(Submit(request), IsOk());
  ASSERT_EQ(submit_response_.counter_results_size(), 1);
  EXPECT_EQ(submit_response_.counter_results(0).code(), v1::APPLIED);
  EXPECT_EQ(submit_response_.counter_results(0).acknowledged_step(), 7);
  const auto reports = counter_.counters();
  ASSERT_EQ(reports.size(), 1);
  EXPECT_EQ(reports[0].step, 7);
  EXPECT_THAT(reports[0].moment, ElementsAre(0.5, -1));
  EXPECT_FALSE(reports[0].decisions[0].has_value());
  EXPECT_EQ(reports[0].decisions[1]->id, tokens_.Open(token)->id);
  EXPECT_THAT(reports[0].shown, ElementsAre(0, 1));
}

TEST_F(CounterReportTest, ATokenOfAnotherModelOrEpochRefusesItsReport) {
  plain_.SetInstance(std::byte{0x11});
  const std::string foreign = Token();
  v1::SubmitRequest request = RequestOf(2, {Token("local"), foreign});
  *request.add_counter_reports() = RequestOf(1, {Token("local")}).counter_reports(0);
  ASSERT_THAT(Submit(request), IsOk());
  EXPECT_EQ(submit_response_.counter_results(0).reason(), v1::TOKEN_FOREIGN);
  EXPECT_EQ(submit_response_.counter_results(1).code(), v1::APPLIED);
  EXPECT_EQ(counter_.rejected(v1::TOKEN_FOREIGN), 1);
}

TEST_F(CounterReportTest, RefusesWrongShapesAndTheOtherMechanism) {
  const std::string token = Token("local");
  const auto expect = [&](const v1::SubmitRequest& request, Code code, const char* message) {
    EXPECT_THAT(Submit(request), StatusIs(code, message));
  };
  expect(Empty(counter_), Code::kInvalidArgument, "counter_reports: 1 to 4");
  v1::SubmitRequest randomized = Empty(counter_);
  randomized.add_reports();
  expect(randomized, Code::kFailedPrecondition, "reports: the model's mechanism");
  expect(RequestOf(0, {token}), Code::kInvalidArgument, "steps: must be 1 to step = 0, got 1");
  expect(RequestOf(3, {}), Code::kInvalidArgument, "steps: must be 1 to step");
  expect(RequestOf(9, {"1", "2", "3", "4", "5"}), Code::kInvalidArgument, "steps: 1 to 4");
  v1::SubmitRequest request = RequestOf(1, {token});
  request.mutable_counter_reports(0)->set_stream("short");
  expect(request, Code::kInvalidArgument, "stream: must have 16 bytes, got 5");
  request = RequestOf(1, {token});
  request.mutable_counter_reports(0)->add_moment(0);
  expect(request, Code::kInvalidArgument, "moment: must have 2 entries, got 3");
  request = RequestOf(1, {token});
  request.set_policy_hash(std::string(32, 'x'));
  expect(request, Code::kFailedPrecondition, "policy_hash");
  EXPECT_TRUE(counter_.counters().empty());
}

TEST_F(CounterReportTest, ARandomizersModelTakesNone) {
  v1::SubmitRequest request = Empty(registry_.Add(
      PrivateSpec("randomizer", 2, Mode::kLocalReward, MechanismId::kRewardRandomizer)));
  request.add_counter_reports();
  EXPECT_THAT(Submit(request), StatusIs(Code::kFailedPrecondition, "counter_reports: the model"));
}

}  // namespace
}  // namespace bandana::server

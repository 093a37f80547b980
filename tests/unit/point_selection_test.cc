// Selections of models of points: the point, the token, what is refused.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "server/service/recommender.h"
#include "tests/support/service_fixture.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

ModelSpec SpecOf(const std::string& text) {
  v1::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  std::vector<ConfigError> errors;
  return ParseModelConfig(config, "", false, errors).value();
}

class PointSelectionTest : public ::bandana::testing::ServiceTest {
 protected:
  // Model `p`: the ball of radius 2 in three dimensions, centre 0, rho 1/2.
  PointSelectionTest() {
    const NodePosterior node{.mean = {0, 0, 0}, .covariance = {}, .alpha = 0.5};
    model_.SetPosterior(PosteriorSnapshot(3, node, 1).With(7, {0}, {node}));
  }

  static v1::SelectRequest Request(const std::string& model = "p") {
    v1::SelectRequest request;
    request.set_model(model);
    request.set_user("u");
    return request;
  }
  absl::Status Select(const v1::SelectRequest& request) {
    response_.Clear();
    return recommender_->Select(request, response_);
  }

  FakeModel& model_ =
      registry_.Add(SpecOf("name: 'p' dimension: 3 mode: NON_PRIVATE points { radius: 2 }"));
  std::unique_ptr<Handlers> recommender_ = MakeRecommender(
      {.arms_per_request_max = 5, .batch_decisions_max = 4}, registry_, tokens_, clock_);
  v1::SelectResponse response_;
};

// About the centre the ellipsoid is a sphere of radius rho r / sqrt(2), so that the factor is
// d (x - y) / (rho^2 r^2 / 2).
TEST_F(PointSelectionTest, AnswersAPointAndSealsItsFactor) {
  std::vector<double> before;
  for (const std::uint32_t top_k : {0u, 1u}) {
    v1::SelectRequest request = Request();
    request.set_top_k(top_k);
    ASSERT_THAT(Select(request), IsOk());
    ASSERT_THAT(response_.point(), SizeIs(3));
    EXPECT_THAT(response_.positions(), IsEmpty());
    EXPECT_THAT(response_.scores(), IsEmpty());
    EXPECT_THAT(response_.means(), IsEmpty());
    EXPECT_THAT(response_.widths(), IsEmpty());
    EXPECT_THAT(response_.propensities(), IsEmpty());
    EXPECT_THAT(response_.arm_ids(), IsEmpty());
    EXPECT_EQ(response_.posterior_version(), 7);
    double square = 0;
    for (const double x : response_.point()) square += x * x;
    EXPECT_NEAR(std::sqrt(square), 0.5 * 2 / std::sqrt(2), 1e-12);

    const auto decision = tokens_.Open(response_.token());
    ASSERT_THAT(decision, IsOk());
    EXPECT_EQ(decision->node, 0);
    EXPECT_EQ(decision->user, "");
    EXPECT_EQ(decision->time, clock_.Now());
    ASSERT_THAT(decision->arms, SizeIs(1));
    EXPECT_EQ(decision->arms[0].propensity, 1);
    ASSERT_THAT(decision->arms[0].features, SizeIs(3));
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(decision->arms[0].features[i], 3 * response_.point(i) / 0.5, 1e-12);
    }
    const std::vector<double> point(response_.point().begin(), response_.point().end());
    EXPECT_NE(point, before);  // another direction
    before = point;
  }
}

TEST_F(PointSelectionTest, ArmsAndSeveralRanksAreRefused) {
  v1::SelectRequest request = Request();
  request.mutable_arms();
  EXPECT_THAT(Select(request), StatusIs(Code::kInvalidArgument, "arms: must be absent"));
  request.mutable_arms()->mutable_inline_arms()->add_features(1);
  EXPECT_THAT(Select(request), StatusIs(Code::kInvalidArgument, "arms: must be absent"));
  request = Request();
  request.set_top_k(2);
  EXPECT_THAT(Select(request), StatusIs(Code::kInvalidArgument, "top_k: must be 0 or 1"));
  request.set_top_k(17);
  EXPECT_THAT(Select(request), StatusIs(Code::kInvalidArgument, "top_k"));
  request = Request();
  request.clear_user();
  EXPECT_THAT(Select(request), StatusIs(Code::kInvalidArgument, "user"));
  request.set_user(std::string(129, 'u'));
  EXPECT_THAT(Select(request), StatusIs(Code::kInvalidArgument, "user"));
}

TEST_F(PointSelectionTest, OtherModelsMissTheirArms) {
  registry_.Add(PlainSpec("ranks", 3));
  registry_.Add(SpecOf("name: 'draws' dimension: 3 mode: NON_PRIVATE arms {}"));
  for (const char* model : {"ranks", "draws"}) {
    EXPECT_THAT(Select(Request(model)), StatusIs(Code::kInvalidArgument, "arms: inline_arms"));
  }
}

TEST_F(PointSelectionTest, ABatchMayMixTheFamilies) {
  registry_.Add(PlainSpec("ranks", 2));
  v1::BatchSelectRequest request;
  *request.add_decisions() = Request();
  *request.add_decisions() = Request("ranks");
  request.mutable_decisions(1)->mutable_arms()->mutable_inline_arms()->add_features(1);
  request.mutable_decisions(1)->mutable_arms()->mutable_inline_arms()->add_features(0);
  *request.add_decisions() = Request();
  request.mutable_decisions(2)->mutable_arms();
  v1::BatchSelectResponse response;
  ASSERT_THAT(recommender_->BatchSelect(request, response), IsOk());
  EXPECT_THAT(response.results(0).selection().point(), SizeIs(3));
  EXPECT_THAT(response.results(1).selection().positions(), SizeIs(1));
  EXPECT_THAT(response.results(1).selection().point(), IsEmpty());
  EXPECT_EQ(response.results(2).code(), static_cast<int>(Code::kInvalidArgument));
  EXPECT_FALSE(response.results(2).has_selection());
}

TEST_F(PointSelectionTest, ReportsHandOnTheFactor) {
  ASSERT_THAT(Select(Request()), IsOk());
  v1::ReportRequest request;
  request.set_model("p");
  request.add_outcomes()->set_token(response_.token());
  request.mutable_outcomes(0)->set_reward(0.75);
  v1::ReportResponse response;
  absl::Status status = absl::UnknownError("not finished");
  recommender_->Report(request, response, [&](absl::Status done) { status = std::move(done); });
  ASSERT_THAT(status, IsOk());
  ASSERT_THAT(model_.reported(), SizeIs(1));
  EXPECT_EQ(model_.reported()[0].decision.arms[0].features.size(), 3u);
  EXPECT_EQ(model_.reported()[0].reward, 0.75);
}

TEST_F(PointSelectionTest, WindowsOpenWithTheDecision) {
  FakeModel& windowed = registry_.Add(
      SpecOf("name: 'w' dimension: 3 mode: NON_PRIVATE points {} reporting { reward_window { "
             "duration { seconds: 5 } } }"));
  windowed.SetPosterior(model_.posterior());
  ASSERT_THAT(Select(Request("w")), IsOk());
  ASSERT_THAT(windowed.recorded(), SizeIs(1));
  EXPECT_EQ(windowed.recorded()[0].id, tokens_.Open(response_.token())->id);
  windowed.SetRecordStatus(absl::UnavailableError("log"));
  EXPECT_THAT(Select(Request("w")), StatusIs(Code::kUnavailable));
}

TEST_F(PointSelectionTest, ThereIsNoPosteriorToRankBy) {
  registry_.Add(SpecOf("name: 'draws' dimension: 3 mode: NON_PRIVATE arms {}"));
  v1::GetPosteriorRequest request;
  v1::GetPosteriorResponse response;
  for (const char* user : {"", "u"}) {
    request.set_user(user);
    request.set_model("p");
    EXPECT_THAT(recommender_->GetPosterior(request, response),
                StatusIs(Code::kFailedPrecondition, "p is of points: Select draws them"));
    request.set_model("draws");
    EXPECT_THAT(recommender_->GetPosterior(request, response),
                StatusIs(Code::kFailedPrecondition, "draws is of arms: Select draws them"));
  }
}

}  // namespace
}  // namespace bandana::server

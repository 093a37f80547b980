#include "server/service/recommender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/base/sha256.h"
#include "server/service/posterior_page.h"
#include "tests/support/service_fixture.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

class RecommenderTest : public ::bandana::testing::ServiceTest {
 protected:
  // Model `m`: d = 2, mean (1, 0), covariance I, alpha 0.5.
  RecommenderTest() {
    NodePosterior node{.mean = {1, 0}, .covariance = {1, 0, 0, 1}, .alpha = 0.5};
    model_.SetPosterior(PosteriorSnapshot(2, node, 1).With(9, {0}, {node}));
    model_.SetArms({{.id = 10, .features = {1, 0}, .tags = {"news"}},
                    {.id = 20, .features = {0, 1}, .tags = {"news", "sport"}},
                    {.id = 30, .features = {-1, 0}, .tags = {}}});
  }

  static v1::SelectRequest Request(std::vector<double> features, int top_k = 0) {
    v1::SelectRequest request;
    request.set_model("m");
    request.set_user("u");
    request.set_top_k(static_cast<std::uint32_t>(top_k));
    request.mutable_arms()->mutable_inline_arms()->mutable_features()->Add(features.begin(),
                                                                           features.end());
    return request;
  }
  static v1::SelectRequest RequestIds(std::vector<std::uint32_t> ids, int top_k = 0) {
    v1::SelectRequest request = Request({}, top_k);
    request.mutable_arms()->mutable_catalogue_arms()->mutable_ids()->Add(ids.begin(), ids.end());
    return request;
  }
  static v1::SelectRequest RequestQuery(std::vector<std::string> tags, int top_k = 0) {
    v1::SelectRequest request = Request({}, top_k);
    v1::CatalogueQuery& query = *request.mutable_arms()->mutable_catalogue_query();
    for (const std::string& tag : tags) query.add_tags_any(tag);
    return request;
  }
  absl::Status Select(const v1::SelectRequest& request) {
    response_.Clear();
    return recommender_->Select(request, response_);
  }
  std::string Token(const std::string& model = "m") {
    v1::SelectRequest request = Request({1, 0, 0, 1}, 2);
    request.set_model(model);
    EXPECT_THAT(Select(request), IsOk());
    return response_.token();
  }
  absl::Status Report(const v1::ReportRequest& request) {
    report_response_.Clear();
    absl::Status result = absl::UnknownError("not finished");
    recommender_->Report(request, report_response_,
                         [&](absl::Status status) { result = std::move(status); });
    return result;
  }
  absl::Status Submit(const v1::SubmitRequest& request) {
    submit_response_.Clear();
    absl::Status result = absl::UnknownError("not finished");
    recommender_->Submit(request, submit_response_,
                         [&](absl::Status status) { result = std::move(status); });
    return result;
  }
  static v1::ReportRequest ReportOf(std::vector<std::string> tokens) {
    v1::ReportRequest request;
    request.set_model("m");
    for (const std::string& token : tokens) {
      v1::Outcome& outcome = *request.add_outcomes();
      outcome.set_token(token);
      outcome.set_reward(0.5);
    }
    return request;
  }
  FakeModel& AddLocal() {
    return registry_.Add(
        PrivateSpec("local", 2, Mode::kLocalReward, MechanismId::kRewardRandomizer));
  }
  v1::SubmitRequest SubmitOf(const FakeModel& model, std::vector<std::string> tokens) {
    v1::SubmitRequest request;
    request.set_model("local");
    request.set_policy_hash(std::string(AsChars(model.spec().public_spec.PolicyHash())));
    for (const std::string& token : tokens) {
      v1::PerturbedReport& report = *request.add_reports();
      report.set_token(token);
      report.set_output(3);
      report.set_shown(1);
    }
    return request;
  }

  FakeModel& model_ = registry_.Add(PlainSpec("m", 2));
  std::unique_ptr<Handlers> recommender_ = MakeRecommender(
      {.arms_per_request_max = 5, .batch_decisions_max = 4}, registry_, tokens_, clock_);
  v1::SelectResponse response_;
  v1::ReportResponse report_response_;
  v1::SubmitResponse submit_response_;
};

// Scores by hand: mean = x_1, width = |x|_2, score = mean + 0.5 width.
TEST_F(RecommenderTest, SelectRanksByMeanPlusAlphaTimesWidth) {
  ASSERT_THAT(Select(Request({0, 1, 1, 0, -0.6, 0.8}, 3)), IsOk());
  EXPECT_THAT(response_.positions(), ElementsAre(1, 0, 2));
  EXPECT_THAT(response_.scores(), ElementsAre(DoubleEq(1.5), DoubleEq(0.5), DoubleEq(-0.1)));
  EXPECT_THAT(response_.means(), ElementsAre(DoubleEq(1), DoubleEq(0), DoubleEq(-0.6)));
  EXPECT_THAT(response_.widths(), ElementsAre(DoubleEq(1), DoubleEq(1), DoubleEq(1)));
  EXPECT_THAT(response_.propensities(), ElementsAre(1, 0, 0));
  EXPECT_THAT(response_.arm_ids(), IsEmpty());
  EXPECT_EQ(response_.posterior_version(), 9);
}

// Scores: 0.5 and 1.1 of the first pair, whose best mean wins; 0.15 and 0.5 of the second. A choice
// of the caller's own is not the model's to explore.
TEST_F(RecommenderTest, ChoicesThatExploreAreCounted) {
  ASSERT_THAT(Select(Request({0, 1, 0.6, 0.8}, 1)), IsOk());
  ASSERT_THAT(Select(Request({0.1, 0, 0, 1}, 1)), IsOk());
  v1::SelectRequest unlearnt = Request({0.1, 0, 0, 1}, 1);
  unlearnt.set_learn(false);
  ASSERT_THAT(Select(unlearnt), IsOk());
  v1::SelectRequest own = Request({0.1, 0, 0, 1}, 1);
  own.set_baseline(1);
  ASSERT_THAT(Select(own), IsOk());
  EXPECT_THAT(model_.choices(), ElementsAre(::testing::Optional(false), ::testing::Optional(true),
                                            ::testing::Eq(std::nullopt)));
}

TEST_F(RecommenderTest, TopKZeroMeansOne) {
  ASSERT_THAT(Select(Request({0, 1, 1, 0}, 0)), IsOk());
  EXPECT_THAT(response_.positions(), ElementsAre(1));
}

TEST_F(RecommenderTest, TopKBeyondTheArmsReturnsThemAll) {
  ASSERT_THAT(Select(Request({0, 1, 1, 0}, 16)), IsOk());
  EXPECT_THAT(response_.positions(), ElementsAre(1, 0));
}

TEST_F(RecommenderTest, TheTokenCarriesTheRankedArms) {
  ASSERT_THAT(Select(Request({0, 1, 1, 0}, 2)), IsOk());
  const auto decision = tokens_.Open(response_.token());
  ASSERT_THAT(decision, IsOk());
  EXPECT_EQ(decision->instance, model_.instance());
  EXPECT_EQ(decision->epoch, 1);
  EXPECT_EQ(decision->time, clock_.Now());
  EXPECT_EQ(decision->node, 0);
  EXPECT_EQ(decision->user, "");
  ASSERT_EQ(decision->arms.size(), 2);
  EXPECT_THAT(decision->arms[0].features, ElementsAre(1, 0));
  EXPECT_THAT(decision->arms[1].features, ElementsAre(0, 1));
  EXPECT_EQ(decision->arms[0].propensity, 1);
  EXPECT_EQ(decision->arms[1].propensity, 0);
}

TEST_F(RecommenderTest, TheTokenCarriesTheRankThatSelectNamed) {
  v1::SelectRequest request = Request({0, 1, 1, 0}, 2);
  request.set_shown(1);
  ASSERT_THAT(Select(request), IsOk());
  EXPECT_EQ(tokens_.Open(response_.token())->shown, 1);
  request.set_shown(2);
  EXPECT_THAT(Select(request), StatusIs(Code::kInvalidArgument, "shown: must be in [0, 2), got 2"));
  request.set_top_k(5);  // of two arms
  EXPECT_THAT(Select(request), StatusIs(Code::kInvalidArgument, "shown: must be below"));
}

// No value of a feature decides whether there is an event.
TEST_F(RecommenderTest, JointModelsTakeArmsThatAreNotFiniteAsZeros) {
  ModelSpec spec = PlainSpec("joint", 2);
  spec.public_spec.mode = Mode::kJoint;
  registry_.Add(spec);
  v1::SelectRequest request = Request({kNan, 1, 0, 0.5, 1, -kInf}, 3);
  request.set_model("joint");
  ASSERT_THAT(Select(request), IsOk());
  const auto decision = tokens_.Open(response_.token());
  EXPECT_THAT(decision->arms[0].features, ElementsAre(0, 0.5));
  EXPECT_THAT(decision->arms[1].features, ElementsAre(0, 0));
  EXPECT_THAT(decision->arms[2].features, ElementsAre(0, 0));
}

TEST_F(RecommenderTest, ReportsAreUnrecordedWhereTheyAreHidden) {
  ModelSpec spec = PlainSpec("central", 2);
  spec.public_spec.mode = Mode::kCentralReward;
  registry_.Add(spec);
  spec.public_spec.name = "window";
  spec.public_spec.reward_window = RewardWindowSpec{.duration = absl::Minutes(1)};
  registry_.Add(spec);
  spec.public_spec.name = "plain";
  spec.public_spec.mode = Mode::kNonPrivate;
  registry_.Add(spec);
  EXPECT_TRUE(recommender_->KeepsReportsUnrecorded("window"));
  EXPECT_FALSE(recommender_->KeepsReportsUnrecorded("central"));
  EXPECT_FALSE(recommender_->KeepsReportsUnrecorded("plain"));
  EXPECT_TRUE(recommender_->KeepsReportsUnrecorded(""));
  ASSERT_THAT(registry_.Delete("window"), IsOk());
  EXPECT_FALSE(recommender_->KeepsReportsUnrecorded(""));
}

TEST_F(RecommenderTest, IndependentUsersAreNamedInTheToken) {
  ModelSpec spec = PlainSpec("own", 2);
  spec.coupling = Coupling::Independent();
  spec.config.mutable_independent();
  registry_.Add(spec);
  v1::SelectRequest request = Request({1, 0});
  request.set_model("own");
  request.set_user("someone");
  ASSERT_THAT(Select(request), IsOk());
  const auto decision = tokens_.Open(response_.token());
  ASSERT_THAT(decision, IsOk());
  EXPECT_EQ(decision->node, -1);
  EXPECT_EQ(decision->user, "someone");
}

TEST_F(RecommenderTest, TiesFallDifferentlyFromDecisionToDecision) {
  std::set<std::uint32_t> first;
  for (int i = 0; i < 200; ++i) {  // both arms stay away with probability 2^-199
    ASSERT_THAT(Select(Request({1, 0, 1, 0})), IsOk());
    first.insert(response_.positions(0));
  }
  EXPECT_THAT(first, ElementsAre(0, 1));
}

TEST_F(RecommenderTest, SelectsAmongCatalogueIds) {
  ASSERT_THAT(Select(RequestIds({30, 20, 10, 20}, 2)), IsOk());
  EXPECT_THAT(response_.positions(), ElementsAre(2, ::testing::AnyOf(1, 3)));
  EXPECT_THAT(response_.arm_ids(), ElementsAre(10, 20));
}

TEST_F(RecommenderTest, SelectsAmongQueryMatchesByTheirPosition) {
  ASSERT_THAT(Select(RequestQuery({"sport", "other"}, 2)), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(20));
  EXPECT_THAT(response_.positions(), ElementsAre(0));
  ASSERT_THAT(Select(RequestQuery({"news"}, 2)), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(10, 20));
  EXPECT_THAT(response_.positions(), ElementsAre(0, 1));
  ASSERT_THAT(Select(RequestQuery({}, 3)), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(10, 20, 30));
}

TEST_F(RecommenderTest, SelectRefusesWhatIsWrongAndSaysWhat) {
  struct Case {
    v1::SelectRequest request;
    Code code;
    std::string message;
  };
  v1::SelectRequest no_model = Request({1, 0});
  no_model.clear_model();
  v1::SelectRequest unknown_model = Request({1, 0});
  unknown_model.set_model("\x01nope");
  v1::SelectRequest no_user = Request({1, 0});
  no_user.clear_user();
  v1::SelectRequest long_user = Request({1, 0});
  long_user.set_user(std::string(129, 'u'));
  v1::SelectRequest no_arms = Request({1, 0});
  no_arms.clear_arms();
  const std::vector<Case> cases = {
      {no_model, Code::kInvalidArgument, "model: must be set"},
      {unknown_model, Code::kNotFound, "no model `\\x01nope`"},
      {no_user, Code::kInvalidArgument, "user: must have 1 to 128 bytes, got 0"},
      {long_user, Code::kInvalidArgument, "user: must have 1 to 128 bytes, got 129"},
      {no_arms, Code::kInvalidArgument,
       "arms: inline_arms, named_arms, catalogue_arms or catalogue_query must be set"},
      {Request({}), Code::kInvalidArgument, "arms.inline_arms.features: at least one arm"},
      {Request({1, 0, 1}), Code::kInvalidArgument, "a multiple of the model's dimension 2, got 3"},
      {Request({1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0}), Code::kInvalidArgument,
       "at most 5 arms a decision, got 6"},
      {Request({1, 0, 0, kNan}), Code::kInvalidArgument, "arm 1 has a NaN or infinite feature"},
      {Request({kInf, 0, 0, 1}), Code::kInvalidArgument, "arm 0 has a NaN or infinite feature"},
      {Request({0, -kInf}), Code::kInvalidArgument, "arm 0 has a NaN or infinite feature"},
      {Request({1, 0}, 101), Code::kInvalidArgument, "top_k: must be in [0, 100], got 101"},
      {RequestIds({}), Code::kInvalidArgument,
       "arms.catalogue_arms: ids or names of at least one arm"},
      {RequestIds({10, 11}), Code::kNotFound, "has no arm 11"},
      {RequestIds({10, 10, 10, 10, 10, 10}), Code::kInvalidArgument,
       "at most 5 arms a decision, got 6"},
      {RequestQuery({"nothing"}), Code::kNotFound, "no arm of the model's catalogue matches"},
      {RequestQuery(std::vector<std::string>(65, "t")), Code::kInvalidArgument,
       "arms.catalogue_query.tags_any: at most 64, got 65"},
  };
  for (const Case& c : cases)
    EXPECT_THAT(Select(c.request), StatusIs(c.code, c.message)) << c.message;
}

TEST_F(RecommenderTest, QueriesThatMatchTooManyArmsAreRefused) {
  std::vector<CatalogueArm> arms;
  for (std::uint32_t id = 0; id < 6; ++id)
    arms.push_back({.id = id, .features = {1, 0}, .tags = {"t"}});
  model_.SetArms(arms);
  EXPECT_THAT(Select(RequestQuery({"t"})),
              StatusIs(Code::kInvalidArgument, "more than the 5 arms"));
  EXPECT_THAT(Select(RequestQuery({})), StatusIs(Code::kInvalidArgument, "more than the 5 arms"));
}

TEST_F(RecommenderTest, UnknownUsersOfAGraphAreNotFound) {
  model_.SetUsers({{"known", 0}});
  EXPECT_THAT(Select(Request({1, 0})), StatusIs(Code::kNotFound));
}

TEST_F(RecommenderTest, ClipsFeaturesToTheBallAndCountsThem) {
  ASSERT_THAT(Select(Request({3, 4, 0.6, 0.8, 0.3, 0.4}, 3)), IsOk());
  EXPECT_EQ(model_.features_clipped(), 1);
  // The clipped arm has become the second one: equal means and widths.
  EXPECT_THAT(response_.means(), ElementsAre(DoubleEq(0.6), DoubleEq(0.6), DoubleEq(0.3)));
  const auto decision = tokens_.Open(response_.token());
  ASSERT_THAT(decision, IsOk());
  EXPECT_THAT(decision->arms[0].features, ElementsAre(DoubleEq(0.6), DoubleEq(0.8)));
}

TEST_F(RecommenderTest, ClipsFeaturesWhoseSquaresOverflow) {
  ASSERT_THAT(Select(Request({1e308, 0})), IsOk());
  EXPECT_THAT(response_.means(), ElementsAre(DoubleEq(1)));
  ASSERT_THAT(Select(Request({1.5e308, -1.5e308})), IsOk());
  EXPECT_THAT(response_.means(), ElementsAre(DoubleEq(std::sqrt(0.5))));
}

TEST_F(RecommenderTest, RejectsFeaturesOutsideTheBallWhereToldTo) {
  ModelSpec spec = PlainSpec("strict", 2);
  spec.public_spec.reject_features = true;
  spec.public_spec.feature_l2_max = 2;
  registry_.Add(spec);
  v1::SelectRequest request = Request({1, 0, 2, 0.1});
  request.set_model("strict");
  EXPECT_THAT(Select(request),
              StatusIs(Code::kInvalidArgument, "arm 1 has an l2 norm above feature_l2_max = 2"));
}

TEST_F(RecommenderTest, RoundingOfAUnitVectorIsNeitherCountedNorRejected) {
  const double third = std::sqrt(1.0 / 2) * (1 + 1e-12);
  ASSERT_THAT(Select(Request({third, third})), IsOk());
  EXPECT_EQ(model_.features_clipped(), 0);
  const auto decision = tokens_.Open(response_.token());
  ASSERT_THAT(decision, IsOk());
  EXPECT_LE(std::hypot(decision->arms[0].features[0], decision->arms[0].features[1]), 1 + 1e-15);
}

TEST_F(RecommenderTest, RecordsDecisionsOfRewardWindowModelsOnly) {
  Token();
  EXPECT_THAT(model_.recorded(), IsEmpty());
  ModelSpec spec = PlainSpec("window", 2);
  spec.public_spec.reward_window = RewardWindowSpec{.duration = absl::Minutes(1)};
  FakeModel& window = registry_.Add(spec);
  const auto decision = tokens_.Open(Token("window"));
  ASSERT_THAT(decision, IsOk());
  ASSERT_EQ(window.recorded().size(), 1);
  EXPECT_EQ(window.recorded()[0].id, decision->id);

  window.SetRecordStatus(Unavailable("log: queue full"));
  v1::SelectRequest request = Request({1, 0});
  request.set_model("window");
  EXPECT_THAT(Select(request), StatusIs(Code::kUnavailable, "log: queue full"));
}

TEST_F(RecommenderTest, BatchSelectAnswersEachDecisionOnItsOwn) {
  v1::BatchSelectRequest request;
  *request.add_decisions() = Request({0, 1, 1, 0});
  *request.add_decisions() = Request({1, 0, 1});
  *request.add_decisions() = RequestIds({20});
  v1::BatchSelectResponse response;
  ASSERT_THAT(recommender_->BatchSelect(request, response), IsOk());
  ASSERT_EQ(response.results_size(), 3);
  EXPECT_THAT(response.results(0).selection().positions(), ElementsAre(1));
  EXPECT_EQ(response.results(0).code(), 0);
  EXPECT_FALSE(response.results(1).has_selection());
  EXPECT_EQ(response.results(1).code(), static_cast<int>(Code::kInvalidArgument));
  EXPECT_THAT(response.results(1).message(), ::testing::HasSubstr("multiple"));
  EXPECT_THAT(response.results(2).selection().arm_ids(), ElementsAre(20));
  EXPECT_NE(response.results(0).selection().token(), response.results(2).selection().token());
}

TEST_F(RecommenderTest, BatchSelectIsBounded) {
  v1::BatchSelectRequest request;
  v1::BatchSelectResponse response;
  EXPECT_THAT(recommender_->BatchSelect(request, response),
              StatusIs(Code::kInvalidArgument, "decisions: 1 to 4"));
  for (int i = 0; i < 5; ++i) *request.add_decisions() = Request({1, 0});
  EXPECT_THAT(recommender_->BatchSelect(request, response),
              StatusIs(Code::kInvalidArgument, "got 5"));
}

TEST_F(RecommenderTest, ReportHandsOpenDecisionsToTheModel) {
  const std::string token = Token();
  v1::ReportRequest request = ReportOf({token});
  request.mutable_outcomes(0)->set_shown(1);
  v1::Outcome& missing = *request.add_outcomes();
  missing.set_token(Token());
  ASSERT_THAT(Report(request), IsOk());
  ASSERT_EQ(report_response_.results_size(), 2);
  EXPECT_EQ(report_response_.results(0).code(), v1::APPLIED);
  const auto reported = model_.reported();
  ASSERT_EQ(reported.size(), 2);
  EXPECT_EQ(reported[0].decision.id, tokens_.Open(token)->id);
  EXPECT_EQ(reported[0].shown, 1);
  EXPECT_EQ(reported[0].reward, 0.5);
  EXPECT_EQ(reported[0].output, std::nullopt);
  EXPECT_EQ(reported[1].reward, std::nullopt);
}

TEST_F(RecommenderTest, ReportSortsOutForgedAndForeignTokensAndCountsThem) {
  ModelSpec spec = PlainSpec("other", 2);
  FakeModel& other = registry_.Add(spec);
  other.SetInstance(std::byte{0x11});
  const std::string good = Token();
  const std::string foreign = Token("other");
  model_.SetEpoch(0);
  const std::string earlier_epoch = Token();
  model_.SetEpoch(1);
  ASSERT_THAT(Report(ReportOf({"forged", foreign, good, earlier_epoch})), IsOk());
  ASSERT_EQ(report_response_.results_size(), 4);
  EXPECT_EQ(report_response_.results(0).code(), v1::REJECTED);
  EXPECT_EQ(report_response_.results(0).reason(), v1::TOKEN_INVALID);
  EXPECT_EQ(report_response_.results(1).reason(), v1::TOKEN_FOREIGN);
  EXPECT_EQ(report_response_.results(2).code(), v1::APPLIED);
  EXPECT_EQ(report_response_.results(2).reason(), v1::REJECT_REASON_UNSPECIFIED);
  EXPECT_EQ(report_response_.results(3).reason(), v1::TOKEN_FOREIGN);
  EXPECT_EQ(model_.rejected(v1::TOKEN_INVALID), 1);
  EXPECT_EQ(model_.rejected(v1::TOKEN_FOREIGN), 2);
  EXPECT_EQ(model_.reported().size(), 1);
}

TEST_F(RecommenderTest, ReportOfRejectedTokensOnlyNeverReachesTheLog) {
  model_.SetReportStatus(Unavailable("log: down"));
  ASSERT_THAT(Report(ReportOf({"forged"})), IsOk());
  EXPECT_EQ(report_response_.results(0).reason(), v1::TOKEN_INVALID);
}

TEST_F(RecommenderTest, ReportPassesOnThatTheLogIsDown) {
  const std::string token = Token();
  model_.SetReportStatus(Unavailable("log: down"));
  EXPECT_THAT(Report(ReportOf({token})), StatusIs(Code::kUnavailable, "log: down"));
  EXPECT_THAT(report_response_.results(), IsEmpty());
}

TEST_F(RecommenderTest, ReportIsBounded) {
  EXPECT_THAT(Report(ReportOf({})),
              StatusIs(Code::kInvalidArgument, "outcomes: 1 to 4 in a call, got 0"));
  EXPECT_THAT(Report(ReportOf({"1", "2", "3", "4", "5"})),
              StatusIs(Code::kInvalidArgument, "got 5"));
}

TEST_F(RecommenderTest, ReportAndSubmitInsistOnTheModelsMode) {
  FakeModel& local = AddLocal();
  v1::ReportRequest report = ReportOf({Token("local")});
  report.set_model("local");
  EXPECT_THAT(Report(report), StatusIs(Code::kFailedPrecondition, "LOCAL_REWARD"));
  v1::SubmitRequest submit = SubmitOf(local, {Token()});
  submit.set_model("m");
  submit.clear_policy_hash();
  EXPECT_THAT(Submit(submit), StatusIs(Code::kFailedPrecondition, "not LOCAL_REWARD"));
  EXPECT_THAT(local.reported(), IsEmpty());
  EXPECT_THAT(model_.reported(), IsEmpty());
}

TEST_F(RecommenderTest, SubmitHandsOutputsToTheModel) {
  FakeModel& local = AddLocal();
  ASSERT_THAT(Submit(SubmitOf(local, {Token("local"), "forged"})), IsOk());
  EXPECT_EQ(submit_response_.results(0).code(), v1::APPLIED);
  EXPECT_EQ(submit_response_.results(1).reason(), v1::TOKEN_INVALID);
  const auto reported = local.reported();
  ASSERT_EQ(reported.size(), 1);
  EXPECT_EQ(reported[0].output, 3);
  EXPECT_EQ(reported[0].shown, 1);
  EXPECT_EQ(reported[0].reward, std::nullopt);
}

TEST_F(RecommenderTest, SubmitRefusesAnotherPolicy) {
  FakeModel& local = AddLocal();
  v1::SubmitRequest request = SubmitOf(local, {Token("local")});
  request.mutable_policy_hash()->front() ^= 1;
  EXPECT_THAT(Submit(request), StatusIs(Code::kFailedPrecondition, "policy_hash"));
  request.set_policy_hash("short");
  EXPECT_THAT(Submit(request), StatusIs(Code::kInvalidArgument, "32 bytes, got 5"));
  EXPECT_THAT(local.reported(), IsEmpty());
}

TEST_F(RecommenderTest, GetModelGivesThePublicConfiguration) {
  v1::GetModelRequest request;
  request.set_model("m");
  v1::GetModelResponse response;
  ASSERT_THAT(recommender_->GetModel(request, response), IsOk());
  EXPECT_EQ(response.model(), "m");
  EXPECT_EQ(response.dimension(), 2);
  EXPECT_EQ(response.posterior_version(), 9);
  EXPECT_EQ(response.policy_hash(), std::string(AsChars(model_.spec().public_spec.PolicyHash())));
  request.set_model("none");
  EXPECT_THAT(recommender_->GetModel(request, response), StatusIs(Code::kNotFound));
}

TEST_F(RecommenderTest, GetPosteriorOfOneUser) {
  v1::GetPosteriorRequest request;
  request.set_model("m");
  request.set_user("u");
  v1::GetPosteriorResponse response;
  ASSERT_THAT(recommender_->GetPosterior(request, response), IsOk());
  EXPECT_FALSE(response.not_modified());
  EXPECT_EQ(response.version(), 9);
  EXPECT_THAT(response.means(), ElementsAre(1, 0));
  EXPECT_THAT(response.covariances(), ElementsAre(1, 0, 1));
  EXPECT_THAT(response.alphas(), ElementsAre(0.5));
  EXPECT_EQ(response.next_node(), 0);
}

TEST_F(RecommenderTest, GetPosteriorIsConditionalOnTheVersion) {
  v1::GetPosteriorRequest request;
  request.set_model("m");
  request.set_user("u");
  for (const auto& [known, not_modified] :
       std::vector<std::pair<std::uint64_t, bool>>{{0, false}, {8, false}, {9, true}, {10, true}}) {
    request.set_if_newer_than(known);
    v1::GetPosteriorResponse response;
    ASSERT_THAT(recommender_->GetPosterior(request, response), IsOk());
    EXPECT_EQ(response.not_modified(), not_modified) << known;
    EXPECT_EQ(response.means_size(), not_modified ? 0 : 2) << known;
    EXPECT_EQ(response.version(), 9);
  }
}

TEST_F(RecommenderTest, GetPosteriorPagesCoverAllNodesOnce) {
  constexpr int kD = 25;
  constexpr int kNodes = 157;
  NodePosterior prior{.mean = std::vector<double>(kD, 0.0),
                      .covariance = std::vector<double>(kD * kD, 0.0)};
  std::vector<int> indices;
  std::vector<NodePosterior> nodes;
  for (int i = 0; i < kNodes; ++i) {
    indices.push_back(i);
    nodes.push_back(prior);
    nodes.back().mean[0] = i;
    nodes.back().covariance[3 * kD + 2] =
        i;  // row 3, column 2 of the lower triangle: packed entry 8
    nodes.back().alpha = i;
  }
  FakeModel& model = registry_.Add(PlainSpec("wide", kD));
  model.SetPosterior(PosteriorSnapshot(kD, prior, kNodes).With(3, indices, nodes));
  v1::GetPosteriorRequest request;
  request.set_model("wide");
  int next = 0;
  int pages = 0;
  do {
    request.set_first_node(static_cast<std::uint32_t>(next));
    v1::GetPosteriorResponse response;
    ASSERT_THAT(recommender_->GetPosterior(request, response), IsOk());
    EXPECT_LT(response.ByteSizeLong(), 200'000);
    EXPECT_EQ(response.first_node(), next);
    const int n = response.alphas_size();
    ASSERT_GT(n, 0);
    ASSERT_EQ(response.means_size(), n * kD);
    ASSERT_EQ(response.covariances_size(), n * kD * (kD + 1) / 2);
    for (int i = 0; i < n; ++i) {
      EXPECT_EQ(response.means(i * kD), next + i);
      EXPECT_EQ(response.covariances(i * kD * (kD + 1) / 2 + 8), next + i);
      EXPECT_EQ(response.alphas(i), next + i);
    }
    next = next + n;
    ++pages;
    if (response.next_node() == 0) break;
    EXPECT_EQ(response.next_node(), next);
  } while (pages < 100);
  EXPECT_EQ(next, kNodes);
  EXPECT_GT(pages, 1);
  request.set_first_node(kNodes + 1);
  v1::GetPosteriorResponse response;
  EXPECT_THAT(recommender_->GetPosterior(request, response),
              StatusIs(Code::kInvalidArgument, "first_node"));
}

TEST_F(RecommenderTest, ServingFollowsTheModelsHealth) {
  EXPECT_EQ(recommender_->ServingOf(""), Serving::kServing);
  EXPECT_EQ(recommender_->ServingOf("m"), Serving::kServing);
  EXPECT_EQ(recommender_->ServingOf("none"), Serving::kUnknownService);
  model_.SetHealth(Unavailable("log: down"));
  EXPECT_EQ(recommender_->ServingOf("m"), Serving::kNotServing);
  EXPECT_EQ(recommender_->ServingOf(""), Serving::kServing);
}

TEST_F(RecommenderTest, ErrorsNeverQuoteFeaturesOrUsers) {
  v1::SelectRequest request = Request({0.123456789, kNan});
  request.set_user("user-to-hide");
  const absl::Status status = Select(request);
  EXPECT_THAT(std::string(status.message()), Not(::testing::HasSubstr("0.123")));
  EXPECT_THAT(std::string(status.message()), Not(::testing::HasSubstr("user-to-hide")));
}

}  // namespace
}  // namespace bandana::server

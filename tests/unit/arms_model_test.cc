// Models of arms without features, hosted: sums, laws, what a report adds.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "common/bandits/mab/tsallis_inf.h"
#include "common/model/learners/arms_sink.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/mechanisms.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

ModelSpec ArmsSpecOf(const std::string& arms, const std::string& mode) {
  return SpecOf("name: 'm' dimension: 3 reward_binary: true arms { " + arms + " } " + mode);
}

constexpr char kOpen[] = "mode: NON_PRIVATE";
constexpr char kLocal[] =
    "mode: LOCAL_REWARD reporting { one_per_decision: true } privacy { epsilon: 1 }";

class ArmsModelTest : public HostedModelTest {
 protected:
  Decision Drawn(const HostedModel& model, int number, int arm, double probability) {
    std::vector<double> features(3, 0.0);
    features[arm] = 1;
    Decision decision = DecisionOf(model, clock_, number, features);
    decision.arms[0].propensity = probability;
    return decision;
  }
};

TEST_F(ArmsModelTest, TsallisAddsWhatTheProbabilityIsWorth) {
  const auto model = Open(ArmsSpecOf("", kOpen));
  EXPECT_THAT(NodeOf(*model->posterior(), 0).mean,
              ElementsAre(DoubleEq(1.0 / 3), DoubleEq(1.0 / 3), DoubleEq(1.0 / 3)));
  ASSERT_EQ(CodeOf(ReportOne(*model, Drawn(*model, 1, 1, 0.25), 1.0)), v1::APPLIED);
  ASSERT_EQ(CodeOf(ReportOne(*model, Drawn(*model, 2, 2, 0.5), 0.0)), v1::APPLIED);
  WaitApplied(*model);
  // (r - 1/2) / p: 2 and -1.
  EXPECT_THAT(StatisticsOf(*model)[0].moment, ElementsAre(0, 2, -1));
  std::vector<double> law;
  TsallisProbabilities(std::vector<double>{0, -2, 1}, 2 / (0.5 * std::sqrt(3.0)), law);
  const NodePosterior posterior = NodeOf(*model->posterior(), 0);
  for (int a = 0; a < 3; ++a) EXPECT_NEAR(posterior.mean[a], law[a], 1e-12);
  EXPECT_EQ(posterior.alpha, 0);
  EXPECT_GT(posterior.mean[1], posterior.mean[0]);
  EXPECT_LT(posterior.mean[2], posterior.mean[0]);
}

// The default that a window closes with is weighed like any reward.
TEST_F(ArmsModelTest, TsallisWeighsTheDefaultOfAWindow) {
  const auto model = Open(
      ArmsSpecOf("", "mode: NON_PRIVATE reporting { reward_window { duration { seconds: 60 } } }"));
  ASSERT_THAT(model->RecordDecision(Drawn(*model, 1, 1, 0.25)), IsOk());
  clock_.Advance(absl::Seconds(61));
  ASSERT_TRUE(Eventually([&] { return model->Stats().log_sequence() >= 2; }));
  WaitApplied(*model);
  EXPECT_THAT(StatisticsOf(*model)[0].moment, ElementsAre(0, -2, 0));  // (0 - 1/2) / (1/4)
}

TEST_F(ArmsModelTest, LocalReportsCountByTheRandomizersValue) {
  const ModelSpec spec = ArmsSpecOf("policy: KL_UCB", kLocal);
  EXPECT_EQ(spec.public_spec.mechanism, MechanismId::kRewardRandomizer);
  const auto model = Open(spec);
  const RewardRandomizer randomizer = testing::RandomizerOf(spec.public_spec);
  for (int i = 0; i < 4; ++i) {
    ReportedOutcome outcome{.decision = Drawn(*model, i, i % 3, 1)};
    outcome.output = i == 1 ? 1 : 0;
    EXPECT_EQ(ReportAll(*model, {outcome})->front().code, v1::APPLIED);
  }
  WaitApplied(*model);
  EXPECT_THAT(StatisticsOf(*model)[0].moment,
              ElementsAre(DoubleEq(2 * randomizer.Value(0)), DoubleEq(randomizer.Value(1)),
                          DoubleEq(randomizer.Value(0))));
  // One good event: the law lies on it.
  EXPECT_THAT(NodeOf(*model->posterior(), 0).mean, ElementsAre(0, 1, 0));
}

TEST_F(ArmsModelTest, StateSurvivesARestart) {
  const ModelSpec spec = ArmsSpecOf("", kOpen);
  std::vector<double> law;
  {
    const auto model = Open(spec);
    for (int i = 0; i < 30; ++i)
      ASSERT_EQ(CodeOf(ReportOne(*model, Drawn(*model, i, i % 3, 0.4), i % 3 == 2 ? 1.0 : 0.0)),
                v1::APPLIED);
    WaitApplied(*model);
    law = NodeOf(*model->posterior(), 0).mean;
    EXPECT_GT(law[2], 0.5);
  }
  EXPECT_EQ(NodeOf(*Open(spec)->posterior(), 0).mean, law);
}

TEST_F(ArmsModelTest, IdentifiesTheBestArm) {
  const auto model = Open(ArmsSpecOf("policy: LIL_UCB failure_probability: 0.1", kOpen));
  EXPECT_FALSE(model->Stats().has_best_arm());
  for (int i = 0; i < 3000 && !model->Stats().has_best_arm(); ++i) {
    const std::vector<double> law = NodeOf(*model->posterior(), 0).mean;
    const int arm = static_cast<int>(std::max_element(law.begin(), law.end()) - law.begin());
    ASSERT_EQ(CodeOf(ReportOne(*model, Drawn(*model, i, arm, 1), arm == 1 ? 1.0 : 0.0)),
              v1::APPLIED);
    WaitApplied(*model);
  }
  ASSERT_TRUE(model->Stats().has_best_arm());
  EXPECT_EQ(model->Stats().best_arm(), 1u);
  EXPECT_THAT(NodeOf(*model->posterior(), 0).mean, ElementsAre(0, 1, 0));
}

TEST_F(ArmsModelTest, RefusesTokensThatAreNoDrawOfAnArm) {
  const auto model = Open(ArmsSpecOf("", kOpen));
  const Decision mixed = DecisionOf(*model, clock_, 1, {0.6, 0.8, 0});
  EXPECT_EQ(ReasonOf(ReportOne(*model, mixed, 1.0)), v1::TOKEN_INVALID);
  EXPECT_EQ(ReasonOf(ReportOne(*model, Drawn(*model, 2, 0, 0), 1.0)), v1::TOKEN_INVALID);
}

TEST_F(ArmsModelTest, TheCatalogueHasTheArmsWithoutAFile) {
  const auto model = Open(ArmsSpecOf("", kOpen));
  EXPECT_EQ(model->catalogue()->size(), 3u);
  v1::PutArmsResponse response;
  const server::CatalogueArm odd{.id = 9, .features = {0.6, 0.8, 0}, .tags = {}};
  EXPECT_THAT(model->PutArms({&odd, 1}, &response),
              StatusIs(absl::StatusCode::kInvalidArgument, "unit vector"));
}

TEST(ArmsConfig, RefusesWhatArmsCannotBe) {
  const auto mistake = [](const std::string& text) {
    v1::ModelConfig config;
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString("name: 'm' dimension: 3 " + text, &config));
    std::vector<ConfigError> errors;
    EXPECT_FALSE(ParseModelConfig(config, "", false, errors).has_value()) << text;
    return errors.empty() ? std::string() : errors[0].field + ": " + errors[0].message;
  };
  using ::testing::HasSubstr;
  const std::string one = " reporting { one_per_decision: true } ";
  EXPECT_THAT(mistake("arms { policy: 7 } mode: NON_PRIVATE"), HasSubstr("arms.policy: must be"));
  EXPECT_THAT(mistake("arms { failure_probability: 1 } mode: NON_PRIVATE"),
              HasSubstr("arms.failure_probability"));
  EXPECT_THAT(mistake("arms {} feature_l2_max: 2 mode: NON_PRIVATE"), HasSubstr("feature_l2_max"));
  EXPECT_THAT(mistake("arms {} mode: CENTRAL_REWARD privacy { epsilon: 1 }" + one),
              HasSubstr("mode: must be NON_PRIVATE or LOCAL_REWARD"));
  EXPECT_THAT(mistake("arms {} mode: LOCAL_REWARD privacy { epsilon: 1 delta: 1e-6 "
                      "mechanism: COUNTER }" +
                      one),
              HasSubstr("privacy.mechanism"));
}

}  // namespace
}  // namespace bandana::testing

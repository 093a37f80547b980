// Models of points, hosted: the sum equals a policy's, whatever is in flight; what a report adds;
// what is refused.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "common/design/points_policy.h"
#include "server/models/registry.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/mechanisms.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr char kOpen[] = "mode: NON_PRIVATE";
constexpr char kLocal[] =
    "mode: LOCAL_REWARD reporting { one_per_decision: true } privacy { epsilon: 1 }";

ModelSpec PointsSpecOf(const std::string& points, const std::string& mode) {
  return SpecOf("name: 'm' dimension: 2 reward_min: -2 reward_max: 1 points { " + points + " } " +
                mode);
}

class PointsModelTest : public HostedModelTest {
 protected:
  PointsModelTest() : sampler_(bits_) {}

  // The published state's next play, as Select draws it.
  ConvexPlay Play(const HostedModel& model) {
    const auto posterior = model.posterior();
    const NodePosterior& state = NodeOf(*posterior, 0);
    return *PlayOnEllipsoid(model.spec().points->domain, state.mean, state.alpha, sampler_);
  }
  Decision Of(const HostedModel& model, const std::vector<double>& factor) {
    return DecisionOf(model, clock_, ++number_, factor);
  }
  static double RewardOf(const std::vector<double>& x) {
    return -((x[0] - 0.3) * (x[0] - 0.3) + (x[1] + 0.4) * (x[1] + 0.4)) / 2;
  }
  static void ExpectState(const HostedModel& model, const ConvexPolicy& policy) {
    const auto posterior = model.posterior();
    const NodePosterior& state = NodeOf(*posterior, 0);
    EXPECT_EQ(state.mean, policy.Center());
    EXPECT_EQ(state.alpha, policy.Distance());
    EXPECT_TRUE(state.covariance.empty());
  }

  SeededBits bits_{3};
  RealSampler sampler_;
  int number_ = 0;
};

TEST_F(PointsModelTest, EqualsThePolicyFedTheSamePlays) {
  for (const char* points : {"", "domain: BOX radius: 1.5 smoothness: 3 horizon: 500"}) {
    const ModelSpec spec = PointsSpecOf(points, kOpen);
    const TempDir folder;
    const auto model = *HostedModel::Open(spec, folder.path(), clock_, {});
    const auto policy = *MakePointsPolicy(spec);
    ExpectState(*model, *policy);
    for (int t = 0; t < 60; ++t) {
      const ConvexPlay play = Play(*model);
      ASSERT_TRUE(spec.points->domain.Contains(play.points[0]));
      const double reward = RewardOf(play.points[0]);
      ASSERT_EQ(CodeOf(ReportOne(*model, Of(*model, play.factor), reward)), v1::APPLIED);
      WaitApplied(*model);
      ASSERT_TRUE(policy->Apply(play.factor, -reward).ok());
      ExpectState(*model, *policy);
    }
    EXPECT_EQ(model->Stats().reports_applied(), 60u);
    EXPECT_NE(NodeOf(*model->posterior(), 0).mean[0], 0);
  }
}

// Plays made before any report came, reported in another order: each with the factor of its time.
TEST_F(PointsModelTest, PlaysInFlightKeepTheirFactors) {
  const ModelSpec spec = PointsSpecOf("", kOpen);
  const auto model = Open(spec);
  const auto policy = *MakePointsPolicy(spec);
  std::vector<ConvexPlay> plays;
  std::vector<Decision> decisions;
  for (int wave = 0; wave < 3; ++wave) {
    for (int i = 0; i < 20; ++i) {
      plays.push_back(Play(*model));
      decisions.push_back(Of(*model, plays.back().factor));
    }
    // The older half of what is open, newest first; a repeat changes nothing.
    for (int i = 0; i < 20; ++i) {
      const std::size_t at = plays.size() / 2;
      const double reward = RewardOf(plays[at].points[0]);
      ASSERT_EQ(CodeOf(ReportOne(*model, decisions[at], reward)), v1::APPLIED);
      ASSERT_EQ(CodeOf(ReportOne(*model, decisions[at], 1)), v1::DUPLICATE);
      ASSERT_TRUE(policy->Apply(plays[at].factor, -reward).ok());
      plays.erase(plays.begin() + static_cast<std::ptrdiff_t>(at));
      decisions.erase(decisions.begin() + static_cast<std::ptrdiff_t>(at));
    }
    WaitApplied(*model);
    ExpectState(*model, *policy);
  }
}

TEST_F(PointsModelTest, LocalReportsCountByTheRandomizersValue) {
  const ModelSpec spec = PointsSpecOf("", kLocal);
  EXPECT_EQ(spec.public_spec.mechanism, MechanismId::kRewardRandomizer);
  const auto model = Open(spec);
  const auto policy = *MakePointsPolicy(spec);
  const RewardRandomizer randomizer = testing::RandomizerOf(spec.public_spec);
  for (std::uint32_t i = 0; i < 10; ++i) {
    const ConvexPlay play = Play(*model);
    ReportedOutcome outcome{.decision = Of(*model, play.factor)};
    outcome.output = i % randomizer.outputs();
    EXPECT_EQ(ReportAll(*model, {outcome})->front().code, v1::APPLIED);
    ASSERT_TRUE(policy->Apply(play.factor, -randomizer.Value(*outcome.output)).ok());
  }
  ReportedOutcome outcome{.decision = Of(*model, {1, 0})};
  EXPECT_EQ(ReportAll(*model, {outcome})->front().reason, v1::REWARD_MISSING);
  outcome.output = randomizer.outputs();
  EXPECT_EQ(ReportAll(*model, {outcome})->front().reason, v1::OUTPUT_OUT_OF_RANGE);
  WaitApplied(*model);
  ExpectState(*model, *policy);
}

TEST_F(PointsModelTest, StateSurvivesRestartsBitByBit) {
  const ModelSpec spec = PointsSpecOf("", kOpen);
  NodeStatistics statistics;
  NodePosterior posterior;
  for (int run = 0; run < 4; ++run) {
    const auto model = Open(spec);
    if (run > 0) {
      const NodeStatistics recovered = StatisticsOf(*model)[0];
      EXPECT_EQ(recovered.moment, statistics.moment);
      EXPECT_EQ(recovered.gram, statistics.gram);
      EXPECT_EQ(recovered.events, statistics.events);
      EXPECT_EQ(NodeOf(*model->posterior(), 0).mean, posterior.mean);
      EXPECT_EQ(NodeOf(*model->posterior(), 0).alpha, posterior.alpha);
    }
    for (int t = 0; t < 25; ++t) {
      const ConvexPlay play = Play(*model);
      ASSERT_EQ(CodeOf(ReportOne(*model, Of(*model, play.factor), RewardOf(play.points[0]))),
                v1::APPLIED);
      WaitApplied(*model);
      if (t == 12 && run % 2 == 0) {
        ASSERT_THAT(model->Checkpoint(), IsOk());
      }
    }
    statistics = StatisticsOf(*model)[0];
    posterior = NodeOf(*model->posterior(), 0);
    EXPECT_EQ(statistics.events, 25u * (run + 1));
  }
}

TEST_F(PointsModelTest, ExportsAndImports) {
  auto registry =
      *server::ModelRegistry::Open({.data_dir = folder_.path(), .models_max = 3}, clock_);
  const auto model = *registry->Create(PointsSpecOf("domain: BOX horizon: 9", kOpen));
  for (int t = 0; t < 5; ++t) {
    const ConvexPlay play = Play(*model);
    ASSERT_EQ(CodeOf(ReportOne(*model, Of(*model, play.factor), RewardOf(play.points[0]))),
              v1::APPLIED);
    WaitApplied(*model);
  }
  const auto copy = registry->Import("copy", *model->Export());
  ASSERT_THAT(copy, IsOk());
  EXPECT_EQ((*copy)->spec().points->horizon, 9u);
  EXPECT_EQ(NodeOf(*(*copy)->posterior(), 0).mean, NodeOf(*model->posterior(), 0).mean);
  EXPECT_EQ(NodeOf(*(*copy)->posterior(), 0).alpha, NodeOf(*model->posterior(), 0).alpha);
}

TEST_F(PointsModelTest, WindowsCloseWithTheDefaultLessTheMiddle) {
  constexpr char kWindow[] =
      "mode: NON_PRIVATE reporting { reward_window { duration { seconds: 60 } "
      "default_reward: -1.5 } }";
  const auto model = Open(PointsSpecOf("", kWindow));
  const Decision lost = Of(*model, {4, -2});
  const Decision kept = Of(*model, {0, 1});
  ASSERT_THAT(model->RecordDecision(lost), IsOk());
  ASSERT_THAT(model->RecordDecision(kept), IsOk());
  ASSERT_EQ(CodeOf(ReportOne(*model, kept, 0.5)), v1::APPLIED);
  clock_.Advance(absl::Seconds(61));
  ASSERT_TRUE(Eventually([&] { return NodeOf(*model->posterior(), 0).mean[0] != 0; }));
  WaitApplied(*model);
  // The middle of [-2, 1] is -0.5: -1 times (4, -2), and 1 times (0, 1).
  EXPECT_THAT(StatisticsOf(*model)[0].moment, ElementsAre(DoubleEq(-4), DoubleEq(3)));
}

TEST_F(PointsModelTest, MeanRewardsAreThoseReported) {
  const auto model = Open(PointsSpecOf("", kOpen));
  ASSERT_EQ(CodeOf(ReportOne(*model, Of(*model, {1, 0}), 0.25)), v1::APPLIED);
  ASSERT_EQ(CodeOf(ReportOne(*model, Of(*model, {1, 0}), -7)), v1::APPLIED);  // clipped
  ASSERT_TRUE(model->rewards().has_value());
  EXPECT_EQ(model->rewards()->count, 2u);
  EXPECT_EQ(model->rewards()->sum, -1.75);
}

TEST_F(PointsModelTest, RefusesTokensThatAreNoPlay) {
  const auto model = Open(PointsSpecOf("", kOpen));
  const auto refused = [&](const Decision& decision) {
    return ReasonOf(ReportOne(*model, decision, 0.5)) == v1::TOKEN_INVALID;
  };
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const double bad : {std::nan(""), kInf, -kInf, 1.01e30, -1e300}) {
    EXPECT_TRUE(refused(Of(*model, {0, bad}))) << bad;
  }
  EXPECT_TRUE(refused(Of(*model, {1})));
  EXPECT_TRUE(refused(Of(*model, {1, 2, 3})));
  Decision two = Of(*model, {1, 2});
  two.arms.push_back(two.arms[0]);
  EXPECT_TRUE(refused(two));
  Decision never = Of(*model, {1, 2});
  never.arms[0].propensity = 0;
  EXPECT_TRUE(refused(never));
  EXPECT_EQ(ReasonOf(ReportOne(*model, Of(*model, {1, 2}), std::nan(""))), v1::REWARD_MISSING);
  EXPECT_EQ(model->Stats().log_sequence(), 0u);
  EXPECT_EQ(CodeOf(ReportOne(*model, Of(*model, {1e30, -1e30}), 1)), v1::APPLIED);
  WaitApplied(*model);
  for (const double x : NodeOf(*model->posterior(), 0).mean) EXPECT_LT(std::abs(x), 1);
}

TEST_F(PointsModelTest, HasNoCatalogueAndNoGraph) {
  const auto model = Open(PointsSpecOf("", kOpen));
  EXPECT_EQ(model->catalogue()->size(), 0);
  v1::PutArmsResponse response;
  const server::CatalogueArm arm{.id = 1, .features = {1, 0}, .tags = {}};
  EXPECT_THAT(model->PutArms({&arm, 1}, &response),
              StatusIs(absl::StatusCode::kFailedPrecondition, "is of points"));
  EXPECT_THAT(model->PutGraph({}), StatusIs(absl::StatusCode::kFailedPrecondition, "no graph"));
}

TEST_F(PointsModelTest, TheDomainMayChangeTheFamilyNot) {
  { Open(PointsSpecOf("", kOpen)); }
  {
    EXPECT_EQ(NodeOf(*Open(PointsSpecOf("domain: BOX radius: 2", kOpen))->posterior(), 0).alpha, 1);
  }
  EXPECT_THAT(TryOpen(SpecOf("name: 'm' dimension: 2 reward_min: -2 reward_max: 1 shared {} "
                             "mode: NON_PRIVATE")),
              StatusIs(absl::StatusCode::kInvalidArgument, "coupling is points"));
}

TEST(PointsConfig, DefaultsAreTheUnitBallAtAnyTime) {
  const ModelSpec spec = PointsSpecOf("", kOpen);
  EXPECT_EQ(spec.points->domain.kind, ConvexDomain::Kind::kBall);
  EXPECT_EQ(spec.points->domain.dimension, 2);
  EXPECT_EQ(spec.points->domain.radius, 1);
  EXPECT_EQ(spec.points->smoothness, 1);
  EXPECT_EQ(spec.points->horizon, 0u);
}

TEST(PointsConfig, RefusesWhatPointsCannotBe) {
  const auto mistake = [](const std::string& text) {
    v1::ModelConfig config;
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString("name: 'm' dimension: 2 " + text, &config));
    std::vector<ConfigError> errors;
    EXPECT_FALSE(ParseModelConfig(config, "", true, errors).has_value()) << text;
    return errors.empty() ? std::string() : errors[0].field + ": " + errors[0].message;
  };
  const std::string open = " mode: NON_PRIVATE";
  EXPECT_THAT(mistake("points { domain: 7 }" + open), HasSubstr("points.domain: must be"));
  for (const char* bad : {"-1", "nan", "inf", "1e7"}) {
    EXPECT_THAT(mistake("points { radius: " + std::string(bad) + " }" + open),
                HasSubstr("points.radius"));
    EXPECT_THAT(mistake("points { smoothness: " + std::string(bad) + " }" + open),
                HasSubstr("points.smoothness"));
  }
  EXPECT_THAT(mistake("points { radius: 1e-40 }" + open), HasSubstr("out of proportion"));
  EXPECT_THAT(mistake("reward_max: 1e-200 points {}" + open), HasSubstr("points: "));
  EXPECT_THAT(mistake("reward_max: 1e8 points {}" + open), HasSubstr("points: feedback"));
  EXPECT_THAT(mistake("arms_file: 'a' points {}" + open), HasSubstr("arms_file"));
  EXPECT_THAT(mistake("link: LOGISTIC points {}" + open), HasSubstr("link"));
  const std::string one = " reporting { one_per_decision: true } ";
  EXPECT_THAT(mistake("points {} mode: CENTRAL_REWARD privacy { epsilon: 1 }" + one),
              HasSubstr("mode: must be NON_PRIVATE or LOCAL_REWARD"));
  EXPECT_THAT(mistake("points {} mode: LOCAL_CONTEXT privacy { epsilon: 1 }" + one),
              HasSubstr("mode: must be NON_PRIVATE or LOCAL_REWARD"));
  for (const char* mechanism : {"COUNTER", "CENTRED_RANDOMIZER"}) {
    EXPECT_THAT(
        mistake("points {} mode: LOCAL_REWARD privacy { epsilon: 1 delta: 1e-6 mechanism: " +
                std::string(mechanism) + " }" + one),
        HasSubstr("privacy.mechanism"));
  }
}

}  // namespace
}  // namespace bandana::testing

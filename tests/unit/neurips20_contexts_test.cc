// ldp-linucb and ldp-glm in the lab.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "research/lab/neurips20/context_learner.h"
#include "research/lab/neurips20/context_run.h"
#include "research/lab/neurips20/context_world.h"
#include "research/lab/neurips20/linear_learner.h"
#include "research/lab/neurips20/suite.h"
#include "tests/support/status_matchers.h"
#include "tools/environments/environment.h"

namespace bandana::lab {
namespace {

using namespace bandana::testing;

Cell ContextCell(const std::string& algorithm, const std::string& label, std::uint64_t horizon) {
  Cell cell{.algorithm = algorithm, .label = label, .environment = std::string(kContexts)};
  cell.epsilon = 5;
  cell.delta = 1e-5;
  cell.horizon = horizon;
  cell.seed = 3;
  return cell;
}

TEST(ContextRun, EveryContenderRunsUnderEachOfItsLabelsAndRepeats) {
  for (const Contender& contender : Neurips20Suite().contenders) {
    const std::string name(contender.name);
    if (name != "random" && name.find("linucb") == std::string::npos &&
        name.find("glm") == std::string::npos)
      continue;
    for (const Label& label : contender.labels) {
      Cell cell = ContextCell(name, std::string(label.name), 150);
      if (name.find("glm") != std::string::npos) cell.settings["link"] = "logistic";
      SCOPED_TRACE(cell.algorithm + ", " + cell.label);
      const auto first = RunContexts(cell);
      ASSERT_THAT(first, IsOk());
      EXPECT_EQ(first->curve.back().round, 150u);
      EXPECT_GT(first->regret, 0);
      EXPECT_EQ(RunContexts(cell)->regret, first->regret);
    }
  }
}

// At epsilon 5 and T = 10,000: published 5700 (random 6650), gaussian 900, auto 200.
TEST(ContextRun, ProvenBeatsPublished) {
  const double published = RunContexts(ContextCell("ldp-linucb", "published", 10'000))->regret;
  Cell cell = ContextCell("ldp-linucb", "auto", 10'000);
  cell.settings["draws"] = "law";
  const auto proven = RunContexts(cell);
  ASSERT_THAT(proven, IsOk());
  EXPECT_LT(proven->regret, published / 5);
  EXPECT_GT(published, 0.5 * proven->random_regret);
}

TEST(ContextRun, LogisticProvenBeatsPublishedAndRepairsAreCounted) {
  Cell cell = ContextCell("ldp-glm", "published", 10'000);
  cell.settings = {{"link", "logistic"}, {"theta_l2", "4"}, {"draws", "law"}};
  const double published = RunContexts(cell)->regret;
  cell.label = "auto";
  const auto proven = RunContexts(cell);
  ASSERT_THAT(proven, IsOk());
  EXPECT_LT(proven->regret, published / 3);
  EXPECT_GT(proven->measures.at("repairs"), 0);
}

// theta of length 200: nearly every arm is saturated.
TEST(ContextRun, SaturatedLinkStaysFinite) {
  for (const char* label : {"published", "published-joint", "auto"}) {
    Cell cell = ContextCell("ldp-glm", label, 2000);
    cell.settings = {{"link", "logistic"}, {"theta_l2", "200"}, {"draws", "law"}};
    const auto result = RunContexts(cell);
    ASSERT_THAT(result, IsOk()) << label;
    EXPECT_TRUE(std::isfinite(result->regret));
  }
}

TEST(ContextRun, RefusesBadSettings) {
  const struct {
    const char *key, *value;
  } kRows[] = {{"link", "probit"},  {"link", "logistic"}, {"arms", "0"},
               {"theta_l2", "nan"}, {"noise", "0"},       {"draws", "some"},
               {"dimension", "0"},  {"alpha", "-1"},      {"typo", "1"}};
  for (const auto& row : kRows) {
    Cell cell = ContextCell("ldp-linucb", "auto", 10);
    cell.settings[row.key] = row.value;
    EXPECT_THAT(RunContexts(cell), StatusIs(absl::StatusCode::kInvalidArgument)) << row.key;
  }
  Cell cell = ContextCell("ldp-linucb", "published", 10);
  cell.delta = 0;
  EXPECT_THAT(RunContexts(cell), StatusIs(absl::StatusCode::kInvalidArgument));
}

ContextTask Task(double epsilon) {
  return {.dimension = 3,
          .reward_stddev = 0.05,
          .prior_stddev = 1,
          .epsilon = {epsilon},
          .delta = {1e-5},
          .horizon = 100,
          .seed = 1,
          .draws = PrivUnitDraws::kLaw};
}

// Zero, duplicate, overlong and NaN features, NaN rewards: reports like any other.
TEST(ContextLearner, SurvivesWhatDevicesMayMeet) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto draws : {PrivUnitDraws::kSeeds, PrivUnitDraws::kLaw}) {
    ContextTask task = Task(5);
    task.draws = draws;
    auto learner = MakeReported(task, v1::PRIVUNIT);
    ASSERT_THAT(learner, IsOk());
    for (int repeat = 0; repeat < 5; ++repeat) {
      EXPECT_THAT((*learner)->Learn(std::vector<double>{0, 0, 0}, 1), IsOk());
      EXPECT_THAT((*learner)->Learn(std::vector<double>{1, 0, 0}, 1), IsOk());
      EXPECT_THAT((*learner)->Learn(std::vector<double>{1, 0, 0}, 1), IsOk());
      EXPECT_THAT((*learner)->Learn(std::vector<double>{1e300, -1e300, 0}, -1e300), IsOk());
      EXPECT_THAT((*learner)->Learn(std::vector<double>{nan, 0, 0}, 1), IsOk());
      EXPECT_THAT((*learner)->Learn(std::vector<double>{0, 1, 0}, nan), IsOk());
    }
    for (const double value : (*learner)->Posterior().mean) EXPECT_TRUE(std::isfinite(value));
  }
}

// Without a mechanism the published mean is ridge regression's, here by one dense solve.
TEST(ContextLearner, WithoutNoiseIsRidgeRegression) {
  const ContextTask task = Task(1);
  auto learner = MakeUnperturbed(task);
  ASSERT_THAT(learner, IsOk());
  Settings settings = Settings::Parse(std::vector<std::string>{"dimension=3"}).value();
  const auto world = ContextWorld::Create(Link::kLinear, 1, settings, 11);
  ContextWorld::Round round;
  const double s2 = task.reward_stddev * task.reward_stddev;
  Eigen::Matrix3d information = Eigen::Matrix3d::Identity() / std::pow(task.prior_stddev, 2);
  Eigen::Vector3d shift = Eigen::Vector3d::Zero();
  for (int t = 0; t < 60; ++t) {
    world->RoundAt(t, round);
    const double reward = world->RewardAt(t, round, 0);
    const std::vector<double> x(round.features.begin(), round.features.begin() + 3);
    ASSERT_THAT((*learner)->Learn(x, reward), IsOk());
    const Eigen::Map<const Eigen::Vector3d> features(x.data());
    information += features * features.transpose() / s2;
    shift += reward * features / s2;
  }
  const Eigen::Vector3d mean = information.ldlt().solve(shift);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR((*learner)->Posterior().mean[i], mean[i], 1e-10);
  EXPECT_EQ((*learner)->repairs(), 0u);
}

// c_t = 2 Y_t and beta_t at sigma = 6 sqrt(2 ln(2.5e5)) = 29.9155, t = 100, d = 5, T = 1e5, by
// hand: Y = 29.9155 * 10 * (4 sqrt 5 + 2 ln(4e6)) = 11,770.9.
TEST(PublishedLinear, WidthsAreTheFormulas) {
  const PublishedWidth width{6 * std::sqrt(2 * std::log(2.5e5)), 5, 100'000};
  EXPECT_NEAR(width.sigma, 29.9155, 1e-3);
  EXPECT_NEAR(width.Shift(100), 299.155 * (8.944272 + 2 * 15.201805), 1);
  const double y = width.Shift(100);
  const double log = std::log(1e5);
  EXPECT_NEAR(width.Beta(100),
              2 * width.sigma * std::sqrt(5 * log) +
                  (std::sqrt(3 * y) + width.sigma * std::sqrt(500 / y)) * 5 * log,
              1e-6);
}

// A V far below the shift's reach, as no draw of the paper's noise makes it.
TEST(PublishedLinear, RepairsWhatTheShiftDoesNotCover) {
  const PublishedWidth width{1, 2, 1000};
  const double y = width.Shift(4);
  NodePosterior posterior;
  EXPECT_FALSE(SolvePublished(width, 4, {0, 0, 0}, {1, 0}, posterior));
  EXPECT_NEAR(posterior.mean[0], 1 / (2 * y), 1e-12);
  EXPECT_TRUE(SolvePublished(width, 4, {-5 * y, 0, 0}, {1, 0}, posterior));
  EXPECT_NEAR(posterior.mean[0], 1 / y, 1e-12);
  EXPECT_NEAR(posterior.covariance[0], 1 / y, 1e-12);
  EXPECT_NEAR(posterior.covariance[3], 1 / (2 * y), 1e-12);
}

// docs/findings.md compares runs over the wire with the lab's.
TEST(ContextWorld, IsTheFleetsSphereArmForArm) {
  const struct {
    Link link;
    double theta_l2;
    std::vector<std::string> fleet;
  } cases[] = {{Link::kLinear, 1, {"pool=10", "theta_l2=1", "noise=0.05"}},
               {Link::kLogistic, 4, {"pool=10", "link=logistic"}}};
  for (const auto& each : cases) {
    Settings none;
    const auto world = ContextWorld::Create(each.link, each.theta_l2, none, 5);
    const auto sphere = MakeEnvironment("sphere", Settings::Parse(each.fleet).value(), 5);
    ASSERT_THAT(world, IsOk());
    ASSERT_THAT(sphere, IsOk());
    ContextWorld::Round round;
    Choice decision;
    for (int t = 0; t < 50; ++t) {
      world->RoundAt(t, round);
      (*sphere)->DecisionAt(t, decision);
      EXPECT_EQ(round.features, decision.features);
      EXPECT_EQ(round.expected, decision.expected);
      EXPECT_EQ(world->RewardAt(t, round, t % 10), (*sphere)->RewardAt(t, decision, t % 10));
    }
  }
}

TEST(ContextWorld, RoundsRepeatAndRewardsAreClipped) {
  Settings settings = Settings::Parse(std::vector<std::string>{"noise=3", "arms=4"}).value();
  const auto world = ContextWorld::Create(Link::kLinear, 1, settings, 7);
  ASSERT_THAT(world, IsOk());
  ContextWorld::Round first;
  ContextWorld::Round again;
  double largest = 0;
  for (int t = 0; t < 200; ++t) {
    world->RoundAt(t, first);
    world->RoundAt(t, again);
    EXPECT_EQ(first.features, again.features);
    const double reward = world->RewardAt(t, first, t % 4);
    EXPECT_EQ(reward, world->RewardAt(t, again, t % 4));
    largest = std::max(largest, std::abs(reward));
  }
  EXPECT_EQ(largest, 1);
}

}  // namespace
}  // namespace bandana::lab

// linucb-dgs in the lab.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "common/random/real_samplers.h"
#include "research/lab/recsys20/world.h"
#include "research/lab/recsys22/dgs_learner.h"
#include "research/lab/recsys22/dgs_run.h"
#include "research/lab/recsys22/suite.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"

namespace bandana::lab {
namespace {

using namespace bandana::testing;

Cell DgsCell(const std::string& algorithm, const std::string& label, std::uint64_t horizon) {
  Cell cell{.algorithm = algorithm, .label = label, .environment = "gaussian"};
  cell.settings = {{"users", "1"}, {"dimension", "5"}, {"arms", "50"}, {"reward_abs_max", "1"}};
  cell.epsilon = 2;
  cell.delta = 0.1;
  cell.horizon = horizon;
  cell.seed = 2;
  return cell;
}

TEST(DgsRun, EveryContenderRunsUnderEachOfItsLabelsAndRepeats) {
  for (const Contender& contender : Recsys22Suite().contenders) {
    for (const Label& label : contender.labels) {
      const Cell cell = DgsCell(std::string(contender.name), std::string(label.name), 203);
      SCOPED_TRACE(cell.algorithm + ", " + cell.label);
      const auto first = RunDgs(cell);
      ASSERT_THAT(first, IsOk());
      EXPECT_EQ(first->curve.back().round, 203u);
      EXPECT_EQ(RunDgs(cell)->regret, first->regret);
      EXPECT_EQ(first->measures.contains("theta_error"), label.name != "random");
      EXPECT_FALSE(first->measures.contains("arms_changed"));
    }
  }
}

TEST(DgsRun, ProvenBeatsPublishedAndEstimatesBetter) {
  const auto published = RunDgs(DgsCell("linucb-dgs", "published", 2000));
  const auto proven = RunDgs(DgsCell("linucb-dgs", "proven", 2000));
  const auto open = RunDgs(DgsCell("linucb", "non-private", 2000));
  ASSERT_THAT(proven, IsOk());
  EXPECT_LT(proven->regret, published->regret / 3);
  EXPECT_LT(proven->measures.at("theta_error"), published->measures.at("theta_error"));
  // Without noise of the mechanism the fitted theta is the one that is learned.
  EXPECT_LT(open->measures.at("theta_error"), 0.05);
}

TEST(DgsRun, AChangedRewardChangesArmsOnlyAfterItsRound) {
  Cell cell = DgsCell("linucb", "non-private", 300);
  cell.settings["changed_round"] = "0";
  const double early = RunDgs(cell)->measures.at("arms_changed");
  EXPECT_GT(early, 0);
  cell.settings["changed_round"] = "299";  // the last: nothing follows
  EXPECT_EQ(RunDgs(cell)->measures.at("arms_changed"), 0);
  cell.algorithm = cell.label = "random";
  cell.settings["changed_round"] = "0";
  EXPECT_EQ(RunDgs(cell)->measures.at("arms_changed"), 0);
}

TEST(DgsRun, ContextNoiseAndHybridAreOptions) {
  Cell cell = DgsCell("linucb-dgs", "published-authors", 300);
  const double plain = RunDgs(cell)->regret;
  cell.settings["context_noise"] = "0.3";
  const double moved = RunDgs(cell)->regret;
  EXPECT_NE(moved, plain);
  cell.settings.erase("context_noise");
  cell.settings["tree"] = "hybrid";
  const auto hybrid = RunDgs(cell);
  EXPECT_EQ(hybrid->mechanism, "hybrid on theta");
  EXPECT_NE(hybrid->regret, plain);
}

TEST(DgsRun, RefusesBadSettings) {
  const struct {
    const char *key, *value;
  } kRows[] = {
      {"lambda_0", "-1"},      {"lambda_0", "nan"}, {"tree", "oak"}, {"context_noise", "-1"},
      {"changed_round", "-2"}, {"arms", "0"},       {"typo", "1"}};
  for (const auto& row : kRows) {
    Cell cell = DgsCell("linucb-dgs", "published", 10);
    cell.settings[row.key] = row.value;
    EXPECT_THAT(RunDgs(cell), StatusIs(absl::StatusCode::kInvalidArgument)) << row.key;
  }
  Cell cell = DgsCell("linucb-dgs", "published", 10);
  cell.epsilon = 0;
  EXPECT_THAT(RunDgs(cell), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(RunDgs(DgsCell("linucb-dgs", "shaped", 10)),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

// At an epsilon without noise theta is ridge regression's, here by one dense solve.
TEST(DgsLearner, WithoutNoiseIsRidgeRegression) {
  Settings settings =
      Settings::Parse(std::vector<std::string>{"users=1", "dimension=4", "arms=30"}).value();
  const auto world = World::Create("gaussian", settings, 5);
  ASSERT_THAT(world, IsOk());
  auto learner = MakeDgs(**world, {.epsilon = {1e12}, .horizon = 200, .seed = 1}, {.lambda = 0.5});
  ASSERT_THAT(learner, IsOk());
  Eigen::Matrix4d a = 0.5 * Eigen::Matrix4d::Identity();
  Eigen::Vector4d b = Eigen::Vector4d::Zero();
  WorldDecision decision;
  for (int t = 0; t < 200; ++t) {
    (*world)->DecisionAt(t, decision);
    const double reward = (*world)->RewardAt(t, decision, 0);
    const std::vector<double> x(decision.features.begin(), decision.features.begin() + 4);
    ASSERT_THAT((*learner)->Learn(0, x, reward), IsOk());
    const Eigen::Map<const Eigen::Vector4d> features(x.data());
    a += features * features.transpose();
    b += reward * features;
  }
  const Eigen::Vector4d theta = a.ldlt().solve(b);
  const NodePosterior& posterior = (*learner)->Posterior(0);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(posterior.mean[i], theta[i], 1e-8);
  const Eigen::Matrix4d inverse = a.inverse();
  for (int i = 0; i < 16; ++i) EXPECT_NEAR(posterior.covariance[i], inverse(i / 4, i % 4), 1e-9);
}

// m D(t) / epsilon with m = floor(log2 T) + 1 = 13 at T = 5000, D(t) = 320 / t, epsilon 2.
TEST(DgsNoise, ScalesAreTheFormulas) {
  const DgsNoise known(1, 2, 320, 5000, true);
  EXPECT_DOUBLE_EQ(known.ScaleAt(1), 13 * 320 / 2.0);
  EXPECT_DOUBLE_EQ(known.ScaleAt(5000), 13 * 320 / 5000.0 / 2);
  EXPECT_EQ(known.NodesAt(5000), std::popcount(5000u));
  const DgsNoise hybrid(1, 2, 320, 0, false);
  EXPECT_DOUBLE_EQ(hybrid.ScaleAt(64), 320 / 64.0);      // half of epsilon, one draw
  EXPECT_DOUBLE_EQ(hybrid.ScaleAt(65), 7 * 320 / 65.0);  // a tree of 6 + 1 levels
  EXPECT_EQ(hybrid.NodesAt(64), 7);                      // 1, 2, 4, .., 64
  EXPECT_EQ(hybrid.NodesAt(64 + 5), 7 + 2);
}

// The variance of the tree's noise at round t: 2 scale^2 summed over the nodes of t's set bits,
// each at its interval's end. Mutant: the interval's start (finding 2), whose variance is above.
TEST(DgsNoise, VarianceIsThatOfTheNodesInTheSum) {
  constexpr int kRuns = 4000;
  for (const bool known : {true, false}) {
    const std::uint64_t last = 44;  // 101100b
    const double at_ends = [&] {
      const DgsNoise noise(1, 1, 10, last, known);
      double sum = 0;
      for (std::uint64_t left = last; known && left != 0; left &= left - 1)
        sum += 2 * std::pow(noise.ScaleAt(left), 2);
      for (const std::uint64_t end : {1, 2, 4, 8, 16, 32, 40, 44})
        sum += known ? 0 : 2 * std::pow(noise.ScaleAt(end), 2);
      return sum;
    }();
    SeededBits bits(known ? 91 : 92);
    RealSampler sampler(bits);
    double squares = 0;
    for (int run = 0; run < kRuns; ++run) {
      DgsNoise noise(4, 1, 10, last, known);
      for (std::uint64_t t = 0; t < last; ++t) ASSERT_THAT(noise.Step(sampler), IsOk());
      for (const double value : noise.sum()) squares += value * value / (4.0 * kRuns);
    }
    // Fourth moments of a sum of Laplace variables are at most 6 squared variances: the standard
    // deviation of the mean of 16,000 squares is at most sqrt(5 / 16,000) of it; 4.9 of these
    // (alpha 1e-6) are 9 %.
    static_assert(AlphaOf("dgs_noise") == 1e-6);
    EXPECT_NEAR(squares / at_ends, 1, 0.09) << known;
  }
}

}  // namespace
}  // namespace bandana::lab

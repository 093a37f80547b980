// The published form of [FLIP], the lasso bandit, and the suite of experiments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "common/random/real_samplers.h"
#include "research/lab/fliphat/lasso.h"
#include "research/lab/fliphat/n_iht.h"
#include "research/lab/fliphat/suite.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

namespace bandana::lab {
namespace {

using namespace bandana::testing;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(PeelTest, KeepsTheLargestWhenNoiseIsSmall) {
  SeededBits bits(1);
  RealSampler sampler(bits);
  std::vector<double> v = {1, -9, 0, 7, 3};
  ASSERT_THAT(Peel(v, 2, 1e-6, sampler), IsOk());
  EXPECT_NEAR(v[1], -9, 1e-3);
  EXPECT_NEAR(v[3], 7, 1e-3);
  for (const int j : {0, 2, 4}) EXPECT_EQ(v[j], 0);
}

TEST(PeelTest, PicksByTheGapOverTheScale) {
  // With two coordinates a gap g apart, P(the smaller wins) = (1/2 + g/4b) exp(-g/b): the law of
  // the difference of two Laplace(b).
  SeededBits bits(2);
  RealSampler sampler(bits);
  constexpr int kTrials = 20'000;
  int smaller = 0;
  for (int i = 0; i < kTrials; ++i) {
    std::vector<double> v = {1, 3};
    ASSERT_THAT(Peel(v, 1, 1, sampler), IsOk());
    smaller += v[0] != 0;
  }
  EXPECT_NEAR(smaller, kTrials * std::exp(-2.0), 250);  // fixed seed; sd 48
}

TEST(PeelTest, RefusesMoreThanThereIs) {
  SeededBits bits(1);
  RealSampler sampler(bits);
  std::vector<double> v = {1, 2};
  EXPECT_THAT(Peel(v, 3, 1, sampler), StatusIs(kInvalid, "sparsity must be in [1, 2], got 3"));
  EXPECT_THAT(Peel(v, 0, 1, sampler), StatusIs(kInvalid, "sparsity must be"));
  EXPECT_THAT(Peel(v, 1, 0, sampler), StatusIs(kInvalid, "scale must be"));
  EXPECT_THAT(Peel(v, 1, std::nan(""), sampler), StatusIs(kInvalid, "scale must be"));
}

TEST(PeelScaleTest, IsThePapersFormula) {
  // lambda 2 sqrt(3 s ln(1/delta)) / epsilon with lambda 1, s 10, delta 0.01, epsilon 2:
  // sqrt(30 x 4.605170) = 11.75395.
  EXPECT_NEAR(PeelScale(1, 10, {2}, {0.01}), 11.75395, 1e-4);
}

TEST(ProjectOnL1BallTest, MatchesABisectionForTheThreshold) {
  TestRng rng(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> v(1 + rng.Index(20));
    for (double& value : v) value = 3 * rng.Normal();
    const double radius = 0.1 + 5 * rng.Uniform();
    const auto norm_after = [&](double threshold) {
      double sum = 0;
      for (const double value : v) sum += std::max(0.0, std::abs(value) - threshold);
      return sum;
    };
    double low = 0, high = 100;
    for (int i = 0; i < 200; ++i) {
      const double middle = (low + high) / 2;
      (norm_after(middle) > radius ? low : high) = middle;
    }
    std::vector<double> projected = v;
    ProjectOnL1Ball(projected, radius);
    for (std::size_t j = 0; j < v.size(); ++j) {
      const double expected = std::copysign(std::max(0.0, std::abs(v[j]) - high), v[j]);
      EXPECT_NEAR(projected[j], expected, 1e-9);
    }
  }
}

SparseRows MakeRows(int n, int d, std::uint64_t seed) {
  TestRng rng(seed);
  SparseRows rows{.dimension = d};
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < d; ++j) rows.features.push_back(rng.Normal());
    const double* x = &rows.features[static_cast<std::size_t>(i) * d];
    rows.rewards.push_back(x[0] - 0.5 * x[2] + 0.1 * rng.Normal());
  }
  return rows;
}

TEST(NoisyIhtTest, ShortEpisodesTakeNoStep) {
  SeededBits bits(1);
  RealSampler sampler(bits);
  const NoisyIhtOptions options = {
      .sparsity = 2, .epsilon = {1}, .delta = {0.01}, .parameter_l1 = 3.4362};
  // floor(0.16 ln(1 + n 11.807)) is 0 up to n = 43 and 1 from n = 44: ln(1 + 43 x 11.807) = 6.232,
  // ln(1 + 44 x 11.807) = 6.255, 1 / 0.16 = 6.25.
  EXPECT_EQ(*NoisyIht(MakeRows(43, 5, 1), options, sampler), std::vector<double>(5, 0));
  EXPECT_NE(*NoisyIht(MakeRows(44, 5, 1), options, sampler), std::vector<double>(5, 0));
}

TEST(NoisyIhtTest, FindsTheSupportWhereNoiseIsSmall) {
  SeededBits bits(1);
  RealSampler sampler(bits);
  const auto theta =
      *NoisyIht(MakeRows(2000, 20, 2),
                {.sparsity = 2, .epsilon = {1000}, .delta = {0.01}, .parameter_l1 = 1.5}, sampler);
  EXPECT_GT(theta[0], 0);
  EXPECT_LT(theta[2], 0);
  // One step of 1e-4 / n on 2 X'y: 2e-4 beta.
  EXPECT_NEAR(theta[0], 2e-4, 3e-5);
}

TEST(NoisyIhtTest, RefusesBadOptions) {
  SeededBits bits(1);
  RealSampler sampler(bits);
  const SparseRows rows = MakeRows(64, 4, 1);
  const auto run = [&](NoisyIhtOptions options) { return NoisyIht(rows, options, sampler); };
  const NoisyIhtOptions good = {.sparsity = 2, .epsilon = {1}, .delta = {0.01}, .parameter_l1 = 1};
  NoisyIhtOptions bad = good;
  bad.sparsity = 5;
  EXPECT_THAT(run(bad), StatusIs(kInvalid, "sparsity must be in [1, 4], got 5"));
  bad = good;
  bad.epsilon = {0};
  EXPECT_THAT(run(bad), StatusIs(kInvalid, "epsilon must be"));
  bad = good;
  bad.parameter_l1 = std::nan("");
  EXPECT_THAT(run(bad), StatusIs(kInvalid, "parameter_l1"));
}

TEST(LassoTest, FitMeetsTheOptimalityConditions) {
  const SparseRows rows = MakeRows(300, 30, 5);
  LassoBandit lasso(30);
  for (int i = 0; i < 300; ++i) {
    lasso.Learn(std::span(rows.features).subspan(static_cast<std::size_t>(i) * 30, 30),
                rows.rewards[i]);
  }
  constexpr double kPenalty = 0.1;
  lasso.Fit(kPenalty);
  // x_j'(y - X theta) / n is penalty sign(theta_j) on the support, at most the penalty elsewhere.
  int support = 0;
  for (int j = 0; j < 30; ++j) {
    double product = 0;
    for (int i = 0; i < 300; ++i) {
      const double* x = &rows.features[static_cast<std::size_t>(i) * 30];
      product +=
          x[j] * (rows.rewards[i] - std::inner_product(x, x + 30, lasso.theta().begin(), 0.0));
    }
    product /= 300;
    if (lasso.theta()[j] != 0) {
      ++support;
      EXPECT_NEAR(product, std::copysign(kPenalty, lasso.theta()[j]), 1e-3);
    } else {
      EXPECT_LE(std::abs(product), kPenalty + 1e-3);
    }
  }
  EXPECT_GE(support, 2);
  EXPECT_LE(support, 5);
}

Cell SmallCell(const std::string& label) {
  return {.algorithm = label == "random" ? "random" : "fliphat",
          .label = label,
          .epsilon = 5,
          .delta = 0.01,
          .environment = "sparse",
          .settings = {{"dimension", "20"}, {"sparsity", "3"}},
          .horizon = 4000,
          .seed = 1};
}

TEST(FliphatSuiteTest, EveryLabelRunsAndIsAFunctionOfItsCell) {
  const RunFunction run = FliphatSuite().run;
  for (const char* label : {"random", "published", "published-repaired", "proven",
                            "proven-forgetting", "non-private"}) {
    const auto result = run(SmallCell(label));
    ASSERT_THAT(result, IsOk()) << label;
    EXPECT_EQ(result->regret, run(SmallCell(label))->regret) << label;
    EXPECT_EQ(result->curve.back().round, 4000);
    EXPECT_EQ(result->arms, 3);
  }
}

TEST(FliphatSuiteTest, ProvenLearnsAndNonPrivateLearnsMore) {
  const RunFunction run = FliphatSuite().run;
  const double random = run(SmallCell("random"))->regret;
  const double proven = run(SmallCell("proven"))->regret;
  EXPECT_LT(proven, 0.3 * random);
  EXPECT_LT(run(SmallCell("non-private"))->regret, proven);
}

TEST(FliphatSuiteTest, OneArmCostsNothing) {
  Cell cell = SmallCell("proven");
  cell.settings["pool"] = "1";
  cell.horizon = 100;
  EXPECT_EQ(FliphatSuite().run(cell)->regret, 0);
}

TEST(FliphatSuiteTest, RefusesBadSettings) {
  const RunFunction run = FliphatSuite().run;
  Cell cell = SmallCell("proven");
  cell.settings["selected"] = "21";
  EXPECT_THAT(run(cell), StatusIs(kInvalid, "sparsity must be in [1, dimension = 20], got 21"));
  cell = SmallCell("published");
  cell.settings["selected"] = "21";
  cell.horizon = 100;
  EXPECT_THAT(run(cell), StatusIs(kInvalid, "sparsity must be in [1, 20], got 21"));
  cell = SmallCell("proven");
  cell.settings["pool"] = "0";
  EXPECT_THAT(run(cell), StatusIs(kInvalid, "pool"));
  cell = SmallCell("proven");
  cell.environment = "sphere";
  EXPECT_THAT(run(cell), StatusIs(kInvalid, "environment must be sparse"));
}

}  // namespace
}  // namespace bandana::lab

#include "common/ranking/scoring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

TEST(ScoreArms, MeanPlusAlphaTimesWidth) {
  // K = [2 1; 1 3], m = (1, -1), alpha = 0.5.
  const NodePosterior posterior = {{1, -1}, {2, 1, 1, 3}, 0.5};
  ArmScores out;
  ScoreArms(posterior, std::vector<double>{1, 0, 0, 2, 1, 1, 0, 0}, out);
  EXPECT_THAT(out.means, ElementsAre(1, -2, 0, 0));
  EXPECT_THAT(out.widths, ElementsAre(std::sqrt(2), std::sqrt(12), std::sqrt(7), 0));
  for (int a = 0; a < 4; ++a) EXPECT_DOUBLE_EQ(out.scores[a], out.means[a] + 0.5 * out.widths[a]);
}

TEST(ScoreArms, AgreesWithPlainLoops) {
  TestRng rng(1);
  for (int d : {1, 3, 25, 256}) {
    NodePosterior posterior;
    posterior.mean = rng.UnitVector(d);
    posterior.alpha = 1.5;
    const std::vector<double> u = rng.UnitVector(d);
    for (int i = 0; i < d; ++i) {
      for (int j = 0; j < d; ++j) posterior.covariance.push_back((i == j) + 3 * u[i] * u[j]);
    }
    std::vector<double> features;
    for (int a = 0; a < 30; ++a) {
      const std::vector<double> x = rng.UnitVector(d);
      features.insert(features.end(), x.begin(), x.end());
    }
    ArmScores out;
    ScoreArms(posterior, features, out);
    ASSERT_EQ(out.scores.size(), 30);
    for (int a = 0; a < 30; ++a) {
      double mean = 0;
      double square = 0;
      for (int i = 0; i < d; ++i) {
        mean += posterior.mean[i] * features[a * d + i];
        for (int j = 0; j < d; ++j)
          square += features[a * d + i] * posterior.covariance[i * d + j] * features[a * d + j];
      }
      EXPECT_NEAR(out.means[a], mean, 1e-14);
      EXPECT_NEAR(out.widths[a], std::sqrt(square), 1e-13);
      EXPECT_NEAR(out.scores[a], mean + 1.5 * std::sqrt(square), 1e-12);
    }
  }
}

TEST(ScoreArms, NegativeRoundingIsAWidthOfZero) {
  ArmScores out;
  ScoreArms({{0}, {-1e-18}, 1}, std::vector<double>{1}, out);
  EXPECT_THAT(out.widths, ElementsAre(0));
  EXPECT_THAT(out.scores, ElementsAre(0));
}

TEST(ScoreArms, WithoutACovarianceScoresAreMeans) {
  TestRng rng(2);
  for (int d : {1, 3, 400, 4096}) {
    const NodePosterior posterior{.mean = rng.UnitVector(d), .alpha = 0};
    std::vector<double> features = rng.UnitVector(d);
    const std::vector<double> second = rng.UnitVector(d);
    features.insert(features.end(), second.begin(), second.end());
    ArmScores out;
    ScoreArms(posterior, features, out);
    for (int a = 0; a < 2; ++a) {
      double mean = 0;
      for (int i = 0; i < d; ++i) mean += posterior.mean[i] * features[a * d + i];
      EXPECT_NEAR(out.means[a], mean, 1e-14);
    }
    EXPECT_EQ(out.scores, out.means);
    EXPECT_THAT(out.widths, ElementsAre(0, 0));
  }
}

TEST(ScoreArms, ReusesItsOutput) {
  ArmScores out;
  ScoreArms({{1}, {1}, 0}, std::vector<double>{1, 2, 3}, out);
  ScoreArms({{1}, {1}, 0}, std::vector<double>{5}, out);
  EXPECT_THAT(out.scores, ElementsAre(5));
  ScoreArms({{1}, {1}, 0}, std::vector<double>{}, out);
  EXPECT_THAT(out.scores, IsEmpty());
}

TEST(RankArms, BestFirst) {
  const std::vector<double> scores = {0.1, 0.5, -1, 0.7, 0.2};
  EXPECT_THAT(RankArms(scores, 1, 1), ElementsAre(3));
  EXPECT_THAT(RankArms(scores, 3, 1), ElementsAre(3, 1, 4));
  EXPECT_THAT(RankArms(scores, 9, 1), ElementsAre(3, 1, 4, 0, 2));
  EXPECT_THAT(RankArms(scores, 0, 1), IsEmpty());
  EXPECT_THAT(RankArms(scores, -1, 1), IsEmpty());
  EXPECT_THAT(RankArms({}, 3, 1), IsEmpty());
}

TEST(RankArms, WhatIsNoNumberComesLast) {
  const double nan = std::nan("");
  const std::vector<double> scores = {nan, -1e308, nan, 3, nan, 7, -2};
  for (std::uint64_t key = 0; key < 20; ++key) {
    EXPECT_THAT(RankArms(scores, 4, key), ElementsAre(5, 3, 6, 1));
    EXPECT_EQ(RankArms(scores, 7, key).size(), 7);
  }
}

TEST(RankArms, TiesFallTheSameWayForAKeyAndEvenlyOverKeys) {
  const std::vector<double> scores = {2, 1, 2, 2, 2};
  std::map<int, int> first;
  for (std::uint64_t key = 0; key < 40'000; ++key) {
    const std::vector<int> order = RankArms(scores, 5, key);
    EXPECT_EQ(order, RankArms(scores, 5, key));
    EXPECT_EQ(order.back(), 1);
    ++first[order[0]];
  }
  // Binomial(40000, 1/4): standard deviation 86.6; 5 of them.
  for (int arm : {0, 2, 3, 4}) EXPECT_NEAR(first[arm], 10'000, 433) << arm;
}

// Over keys each of the arms with the best score comes first as often as its propensity says: 4,000
// draws, five standard deviations.
TEST(RankArms, EqualScoresShareTheirPropensity) {
  const std::vector<double> scores = {0.5, 2, -1, 2, 2};
  const double share = ShareOfBest(scores);
  EXPECT_DOUBLE_EQ(share, 1.0 / 3);
  EXPECT_EQ(FirstProbability(0, 2, 2, share), share);
  EXPECT_EQ(FirstProbability(1, 2, 2, share), share);
  EXPECT_EQ(FirstProbability(3, 0.5, 2, share), 0);
  std::vector<int> first(scores.size());
  constexpr int kKeys = 4000;
  for (int key = 0; key < kKeys; ++key) {
    ++first[RankArms(scores, 1, static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15)[0]];
  }
  const double deviation = std::sqrt(kKeys * share * (1 - share));
  for (const int arm : {1, 3, 4}) EXPECT_NEAR(first[arm], kKeys * share, 5 * deviation);
  EXPECT_EQ(ShareOfBest(std::vector<double>{std::nan(""), std::nan("")}), 1);
  EXPECT_EQ(ShareOfBest(std::vector<double>{std::nan(""), 3}), 1);
}

TEST(RankArms, TiesDoNotDependOnTopK) {
  const std::vector<double> scores(20, 1.0);
  const std::vector<int> all = RankArms(scores, 20, 99);
  EXPECT_EQ(std::set<int>(all.begin(), all.end()).size(), 20);
  for (int k = 1; k < 20; ++k)
    EXPECT_EQ(RankArms(scores, k, 99), std::vector<int>(all.begin(), all.begin() + k));
}

}  // namespace
}  // namespace bandana::testing

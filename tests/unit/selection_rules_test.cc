#include "common/ranking/policies/selection_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "common/bandits/joint/posterior_draws.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Arms {
  std::vector<double> means;
  std::vector<double> scores;
  std::vector<double> draws = {};
  operator Candidates() const {  // NOLINT
    return {.means = means, .scores = scores, .draws = draws};
  }
};

std::vector<double> LawOf(const SelectionRule& rule, const Candidates& arms,
                          std::vector<int> left = {}) {
  if (left.empty()) {
    left.resize(arms.means.size());
    std::iota(left.begin(), left.end(), 0);
  }
  std::vector<double> law = {7};  // is replaced
  rule.Law(arms, left, law);
  return law;
}

TEST(SelectionRules, UcbSharesTheBestScoreAmongTies) {
  const auto rule = MakeUcbRule();
  EXPECT_THAT(LawOf(*rule, Arms{{0, 0, 0}, {1, 3, 2}}), ElementsAre(0, 1, 0));
  EXPECT_THAT(LawOf(*rule, Arms{{0, 0, 0}, {3, 1, 3}}), ElementsAre(0.5, 0, 0.5));
  EXPECT_THAT(LawOf(*rule, Arms{{0, 0, 0}, {1, 3, 2}}, {0, 2}), ElementsAre(0, 1));
}

TEST(SelectionRules, UniformMixIsTheBestButForItsShare) {
  const auto rule = MakeUniformMix(0.2);
  EXPECT_THAT(LawOf(*rule, Arms{{0, 0, 0, 0}, {1, 3, 2, 0}}),
              ElementsAre(DoubleEq(0.05), DoubleEq(0.85), DoubleEq(0.05), DoubleEq(0.05)));
  EXPECT_THAT(LawOf(*MakeUniformMix(1), Arms{{0, 0}, {1, 3}}), ElementsAre(0.5, 0.5));
}

TEST(SelectionRules, ColdArmsHaveTheirShare) {
  const auto rule = MakeColdShare(MakeUniformMix(0.2), 0.3);
  const std::vector<double> means = {0, 0, 0, 0}, scores = {1, 3, 2, 0};
  const std::vector<std::uint8_t> cold = {0, 0, 1, 1};
  const Candidates arms{.means = means, .scores = scores, .draws = {}, .cold = cold};
  // 0.7 of (0.05, 0.85, 0.05, 0.05), and 0.15 for each cold one.
  EXPECT_THAT(LawOf(*rule, arms),
              ElementsAre(DoubleEq(0.035), DoubleEq(0.595), DoubleEq(0.185), DoubleEq(0.185)));
  EXPECT_THAT(LawOf(*rule, arms, {0, 1, 3}),
              ElementsAre(DoubleEq(0.7 * 0.2 / 3), DoubleEq(0.7 * (0.8 + 0.2 / 3)),
                          DoubleEq(0.7 * 0.2 / 3 + 0.3)));
  // None is cold: the rule itself.
  EXPECT_THAT(LawOf(*rule, arms, {0, 1}), ElementsAre(DoubleEq(0.1), DoubleEq(0.9)));
  EXPECT_TRUE(rule->favours_cold());
  EXPECT_FALSE(rule->ranks_by_score());
  EXPECT_EQ(MakeColdShare(MakeThompson(7, 0), 0.3)->draws(), 7);
}

// 4 draws of 3 arms: best are arm 1, arm 1, arms 0 and 2 alike, arm 2.
TEST(SelectionRules, ThompsonCountsTheDrawsInWhichAnArmIsBest) {
  const Arms arms{{0, 0, 0}, {0, 0, 0}, {0, 1, 0, 1, 2, 0, 5, 4, 5, -3, -2, -1}};
  EXPECT_THAT(LawOf(*MakeThompson(4, 0), arms),
              ElementsAre(DoubleEq(0.125), DoubleEq(0.5), DoubleEq(0.375)));
  EXPECT_THAT(LawOf(*MakeThompson(4, 0.3), arms),
              ElementsAre(DoubleEq(0.1 + 0.7 * 0.125), DoubleEq(0.1 + 0.7 * 0.5),
                          DoubleEq(0.1 + 0.7 * 0.375)));
  // Among arms 0 and 2 alone: alike, arm 0, alike, arm 2.
  EXPECT_THAT(LawOf(*MakeThompson(4, 0), arms, {0, 2}), ElementsAre(DoubleEq(0.5), DoubleEq(0.5)));
}

TEST(SelectionRules, SoftmaxWeighsScoresByTheExponential) {
  const double e = std::exp(1.0);
  EXPECT_THAT(LawOf(*MakeSoftmax(0.5), Arms{{9, 0}, {1, 0.5}}),
              ElementsAre(DoubleNear(e / (e + 1), 1e-15), DoubleNear(1 / (e + 1), 1e-15)));
  // Far from 0, and far apart.
  EXPECT_THAT(LawOf(*MakeSoftmax(1e-9), Arms{{0, 0}, {1e9, -1e9}}), ElementsAre(1, 0));
}

// [FR20, Algorithm 1] with mu = n = 3: 1 / (3 + 10 * 0.2) = 1 / 5, 1 / (3 + 10 * 0.7) = 1 / 10.
TEST(SelectionRules, InverseGapGivesTheBestTheRest) {
  EXPECT_THAT(LawOf(*MakeInverseGap(10), Arms{{0.8, 1, 0.3}, {5, 0, 0}}),
              ElementsAre(DoubleNear(0.2, 1e-15), DoubleNear(0.7, 1e-15), DoubleNear(0.1, 1e-15)));
  EXPECT_THAT(
      LawOf(*MakeInverseGap(10), Arms{{1, 1, 0.3}, {0, 0, 0}}),
      ElementsAre(DoubleNear(0.45, 1e-15), DoubleNear(0.45, 1e-15), DoubleNear(0.1, 1e-15)));
}

std::vector<std::shared_ptr<const SelectionRule>> AllRules() {
  return {MakeUcbRule(),       MakeUniformMix(0.1), MakeThompson(16, 0.05),
          MakeThompson(16, 0), MakeSoftmax(0.3),    MakeInverseGap(20)};
}

TEST(SelectionRules, EveryLawIsALawWhateverTheValues) {
  TestRng rng(1);
  for (int round = 0; round < 2000; ++round) {
    const int n = 1 + rng.Index(9);
    Arms arms{std::vector<double>(n), std::vector<double>(n), std::vector<double>(16 * n)};
    const auto fill = [&](std::vector<double>& values) {
      for (double& value : values) {
        // Ties, values that make no sense, and very large ones.
        const int kind = rng.Index(8);
        value = kind == 0   ? kNan
                : kind == 1 ? 0.5
                : kind == 2 ? -std::numeric_limits<double>::infinity()
                : kind == 3 ? 1e300
                            : rng.Normal();
      }
    };
    fill(arms.means);
    fill(arms.scores);
    fill(arms.draws);
    for (const auto& rule : AllRules()) {
      const std::vector<double> law = LawOf(*rule, arms);
      ASSERT_EQ(law.size(), n) << rule->words();
      for (const double p : law) ASSERT_TRUE(p >= 0 && p <= 1 + 1e-12) << rule->words() << p;
      ASSERT_NEAR(std::accumulate(law.begin(), law.end(), 0.0), 1, 1e-12) << rule->words();
      std::vector<double> uniforms(n);
      for (double& uniform : uniforms) uniform = rng.Uniform();
      std::set<int> positions;
      for (const RankDraw& draw : DrawRanking(*rule, arms, uniforms)) {
        positions.insert(draw.position);
        ASSERT_TRUE(draw.given > 0 && draw.given <= 1) << rule->words();
        ASSERT_TRUE(draw.first >= 0 && draw.first <= 1) << rule->words();
      }
      ASSERT_EQ(positions.size(), n) << rule->words();
    }
  }
}

// Each rank is the policy on what is left, and says so.
TEST(SelectionRules, ARankingIsDrawnRankByRank) {
  const Arms arms{{0.8, 1, 0.3}, {0, 0, 0}};
  const auto rule = MakeInverseGap(10);
  // 0.2, 0.7, 0.1: 0.95 falls on arm 2; of arms 0 and 1 the law is 1 / 4, 3 / 4.
  const std::vector<double> uniforms = {0.95, 0.2, 0.5};
  const std::vector<RankDraw> ranking = DrawRanking(*rule, arms, uniforms);
  EXPECT_EQ(ranking[0].position, 2);
  EXPECT_NEAR(ranking[0].first, 0.1, 1e-15);
  EXPECT_NEAR(ranking[0].given, 0.1, 1e-15);
  EXPECT_EQ(ranking[1].position, 0);
  EXPECT_NEAR(ranking[1].first, 0.2, 1e-15);
  EXPECT_NEAR(ranking[1].given, 0.25, 1e-15);
  EXPECT_EQ(ranking[2].position, 1);
  EXPECT_NEAR(ranking[2].first, 0.7, 1e-15);
  EXPECT_EQ(ranking[2].given, 1);
}

// Two arms of one group share what the group adds; x adds the same to all draws of a user.
class Grouped final : public ServedPosterior {
 public:
  std::uint64_t version() const override { return 1; }
  int nodes() const override { return 1; }
  const NodePosterior& Of(const Whom&, NodePosterior&) const override { return node_; }
  void Score(const Whom&, const ArmsOnOffer&, NodePosterior&, ArmScores&) const override {}
  std::optional<ScoreLaw> Law(const Whom&, NodePosterior&) const override { return std::nullopt; }
  std::size_t PartsOfArms(const Whom&, const ArmsOnOffer& arms,
                          std::vector<ArmPart>& out) const override {
    out.clear();
    for (const EffectKey key : arms.keys) out.push_back({.key = key, .mean = 1, .width = 2});
    return 1;
  }

 private:
  const NodePosterior node_{.mean = {0.5, -1}, .covariance = {4, 1, 1, 2}, .alpha = 0};
};

TEST(PosteriorDraws, HaveTheMomentsOfTheJointPosterior) {
  constexpr int kDraws = 40'000;
  const std::vector<double> x = {1, 0}, y = {0, 1};
  const std::vector<const double*> features = {x.data(), y.data(), y.data()};
  const std::vector<EffectKey> keys = {7, 7, 8};
  SeededBits bits(3);
  RealSampler sampler(bits);
  NodePosterior scratch;
  std::vector<double> draws;
  ASSERT_THAT(DrawRewards(Grouped(), {}, {.features = features, .keys = keys}, kDraws, sampler,
                          scratch, draws),
              IsOk());
  std::vector<double> mean(3), second(9);
  for (int i = 0; i < kDraws; ++i) {
    for (int a = 0; a < 3; ++a) mean[a] += draws[3 * i + a] / kDraws;
  }
  for (int i = 0; i < kDraws; ++i) {
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 3; ++b) {
        second[3 * a + b] += (draws[3 * i + a] - mean[a]) * (draws[3 * i + b] - mean[b]) / kDraws;
      }
    }
  }
  // Six standard errors of the largest, variance 8: seeded, so this passes or fails for good.
  const double mean_error = 6 * std::sqrt(8.0 / kDraws);
  const double error = 6 * 8 * std::sqrt(2.0 / kDraws);
  EXPECT_NEAR(mean[0], 1.5, mean_error);
  EXPECT_NEAR(mean[1], 0, mean_error);
  EXPECT_NEAR(mean[2], 0, mean_error);
  // Features' covariance, and 4 where the key is the same.
  EXPECT_NEAR(second[0], 4 + 4, error);
  EXPECT_NEAR(second[1], 1 + 4, error);
  EXPECT_NEAR(second[2], 1, error);
  EXPECT_NEAR(second[4], 2 + 4, error);
  EXPECT_NEAR(second[5], 2, error);
  EXPECT_NEAR(second[8], 2 + 4, error);
}

}  // namespace
}  // namespace bandana::testing

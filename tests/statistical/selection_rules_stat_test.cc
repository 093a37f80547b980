// Policies that draw: what is drawn follows the law that the propensities say, and estimates that
// are weighted by them are right.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "common/bandits/coupling.h"
#include "common/bandits/joint/posterior_draws.h"
#include "common/bandits/model.h"
#include "common/ranking/policies/selection_rules.h"
#include "common/ranking/scoring.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/statistics.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

using Rule = std::shared_ptr<const SelectionRule>;

// Five arms, two of them alike, and 20 draws of a posterior around them.
struct Fixed {
  std::vector<double> means = {0.3, 0.5, 0.5, 0.1, 0.45};
  std::vector<double> scores = {0.6, 0.7, 0.7, 0.9, 0.5};
  std::vector<double> draws;
  Fixed() {
    TestRng rng(5);
    for (int i = 0; i < 20; ++i) {
      for (const double mean : means) draws.push_back(mean + 0.2 * rng.Normal());
    }
  }
  Candidates arms() const { return {.means = means, .scores = scores, .draws = draws}; }
};

std::vector<double> LawOf(const SelectionRule& rule, const Candidates& arms,
                          std::vector<int> left) {
  std::vector<double> law;
  rule.Law(arms, left, law);
  return law;
}

// The probability of each pair of first and second arm: cell 5 a + b.
std::vector<double> PairLaw(const SelectionRule& rule, const Candidates& arms) {
  std::vector<double> pairs(25);
  const std::vector<double> first = LawOf(rule, arms, {0, 1, 2, 3, 4});
  for (int a = 0; a < 5; ++a) {
    std::vector<int> left;
    for (int b = 0; b < 5; ++b) {
      if (b != a) left.push_back(b);
    }
    const std::vector<double> second = LawOf(rule, arms, left);
    for (std::size_t i = 0; i < left.size(); ++i) pairs[5 * a + left[i]] = first[a] * second[i];
  }
  return pairs;
}

// P(X >= k + 2 sqrt(k t) + 2 t) <= exp(-t) for X chi-square with k degrees of freedom (Laurent,
// Massart 2000, lemma 1).
double ChiSquareBound(int degrees, double alpha) {
  const double t = -std::log(alpha);
  return degrees + 2 * std::sqrt(degrees * t) + 2 * t;
}

struct Subject {
  std::string name;
  Rule rule;
  Rule mutant;
};

class DrawnLaw : public ::testing::TestWithParam<int> {
 protected:
  static std::vector<Subject> Subjects() {
    return {{"uniform mix", MakeUniformMix(0.2), MakeUniformMix(0.21)},
            {"Thompson", MakeThompson(20, 0.1), MakeThompson(20, 0.11)},
            {"softmax", MakeSoftmax(0.25), MakeSoftmax(0.26)},
            {"inverse gap", MakeInverseGap(15), MakeInverseGap(16)},
            {"UCB with ties", MakeUcbRule(), MakeUniformMix(0.001)}};
  }
};

TEST_P(DrawnLaw, IsWhatPropensitiesSay) {
  constexpr std::uint64_t kDraws = 1'000'000;
  const Subject subject = Subjects()[GetParam()];
  const Fixed fixed;
  const std::vector<double> law = PairLaw(*subject.rule, fixed.arms());
  const double alpha = AlphaOf("selection_rules_fit") / 5;  // five policies
  const FitTest fit = *FitTest::Create(kDraws, law, alpha / 2);
  EXPECT_GE(fit.PowerAtLeast(PairLaw(*subject.mutant, fixed.arms())), 0.99) << subject.name;
  SeededBits bits(100 + GetParam());
  RealSampler sampler(bits);
  std::vector<std::uint64_t> counts(25);
  double first = 0;
  double given = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const std::vector<double> uniforms = {*sampler.Uniform(), *sampler.Uniform()};
    const std::vector<RankDraw> ranking = DrawRanking(*subject.rule, fixed.arms(), uniforms);
    const int cell = 5 * ranking[0].position + ranking[1].position;
    ++counts[cell];
    // The stated probability of a pair is its true one.
    first = std::max(first, std::abs(ranking[0].first - ranking[0].given));
    given = std::max(given, std::abs(ranking[0].given * ranking[1].given - law[cell]));
  }
  EXPECT_TRUE(fit.Accepts(counts)) << subject.name;
  EXPECT_EQ(first, 0);
  EXPECT_LT(given, 1e-15);
  double chi_square = 0;
  int degrees = -1;
  for (int cell = 0; cell < 25; ++cell) {
    if (law[cell] == 0) {
      EXPECT_EQ(counts[cell], 0);
      continue;
    }
    const double expected = law[cell] * kDraws;
    chi_square += (counts[cell] - expected) * (counts[cell] - expected) / expected;
    ++degrees;
  }
  std::printf("%s: chi-square %.1f, %d degrees of freedom, %d draws\n", subject.name.c_str(),
              chi_square, degrees, static_cast<int>(kDraws));
  EXPECT_LT(chi_square, ChiSquareBound(std::max(degrees, 1), alpha / 2)) << subject.name;
}

INSTANTIATE_TEST_SUITE_P(Policies, DrawnLaw, ::testing::Range(0, 5));

PosteriorSnapshot TwoArms(double variance) {
  return PosteriorSnapshot(
      2, {.mean = {0.6, 0}, .covariance = {variance, 0, 0, variance}, .alpha = 0}, 1);
}

// The arm of one draw out of a few is that of one draw: of two arms whose rewards differ by
// N(0.6, 2) the first is shown with probability Phi(0.6 / sqrt(2)).
TEST(ThompsonSampling, ShowsAnArmWithTheProbabilityThatItIsBest) {
  constexpr std::uint64_t kDecisions = 100'000;
  const auto phi = [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); };
  const BinomialTest test =
      *BinomialTest::Create(kDecisions, phi(0.6 / std::sqrt(2.0)), AlphaOf("thompson_marginal"));
  // Mutant: a posterior whose standard deviations are 0.9 of what they should be.
  EXPECT_GE(test.RejectionProbability(phi(0.6 / std::sqrt(2 * 0.81))), 0.99);
  const Rule rule = MakeThompson(8, 0);
  const PosteriorSnapshot posterior = TwoArms(1);
  const std::vector<double> x = {1, 0}, y = {0, 1};
  const std::vector<const double*> arms = {x.data(), y.data()};
  const std::vector<double> none = {0, 0};
  SeededBits bits(8);
  RealSampler sampler(bits);
  NodePosterior scratch;
  std::vector<double> draws;
  std::uint64_t shown = 0;
  for (std::uint64_t i = 0; i < kDecisions; ++i) {
    ASSERT_TRUE(
        DrawRewards(posterior, {}, {.features = arms, .keys = {}}, 8, sampler, scratch, draws)
            .ok());
    const std::vector<double> uniform = {*sampler.Uniform()};
    shown += DrawRanking(*rule, {.means = none, .scores = none, .draws = draws}, uniform)
                         .front()
                         .position == 0
                 ? 1
                 : 0;
  }
  EXPECT_TRUE(test.Accepts(shown)) << shown;
}

constexpr int kDimension = 3;
constexpr int kArms = 5;

std::vector<std::vector<double>> Context(TestRng& rng) {
  std::vector<std::vector<double>> arms;
  for (int a = 0; a < kArms; ++a) arms.push_back(rng.UnitVector(kDimension));
  return arms;
}

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// The arm that the policy of `taste` shows.
int Best(const std::vector<std::vector<double>>& arms, const std::vector<double>& taste) {
  int best = 0;
  for (int a = 1; a < kArms; ++a) {
    if (Dot(arms[a], taste) > Dot(arms[best], taste)) best = a;
  }
  return best;
}

// The mean length along a unit taste of the arm that it shows. The rest has mean 0 by symmetry: the
// value of its policy is this times theta . taste.
double LengthAlongTaste() {
  constexpr int kContexts = 400'000;
  TestRng rng(999);
  const std::vector<double> taste = {1, 0, 0};
  double sum = 0;
  for (int i = 0; i < kContexts; ++i) {
    const auto arms = Context(rng);
    sum += arms[Best(arms, taste)][0];
  }
  return sum / kContexts;
}

// Standard errors between the inverse-propensity estimate of a fixed policy, from the log of a
// model that learns while it is logged, and the truth.
double DeviationInWorld(std::uint64_t seed, const SelectionRule& rule, double length) {
  constexpr int kRounds = 1000;
  TestRng rng(seed);
  SeededBits bits(seed);
  RealSampler sampler(bits);
  std::vector<double> theta(kDimension);
  for (double& entry : theta) entry = 0.7 * rng.Normal();
  const std::vector<double> taste = rng.UnitVector(kDimension);
  const auto model = *BanditModel::Create(
      {.dimension = kDimension,
       .observation_variance = 0.09,
       .exploration = {.kind = ExplorationRule::Kind::kConstant, .alpha = 0.5}},
      Coupling::Shared());
  NodePosterior scratch;
  ArmScores scores;
  std::vector<double> draws;
  double sum = 0;
  double squares = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto context = Context(rng);
    std::vector<const double*> arms;
    for (const auto& x : context) arms.push_back(x.data());
    const PosteriorSnapshot posterior(kDimension, model->Posterior(0), 1);
    ScoreArms(posterior.node(0), arms, scores);
    if (rule.draws() > 0) {
      EXPECT_TRUE(DrawRewards(posterior, {}, {.features = arms, .keys = {}}, rule.draws(), sampler,
                              scratch, draws)
                      .ok());
    }
    const std::vector<double> uniform = {*sampler.Uniform()};
    const RankDraw shown =
        DrawRanking(rule, {.means = scores.means, .scores = scores.scores, .draws = draws}, uniform)
            .front();
    const double reward = Dot(context[shown.position], theta) + 0.3 * rng.Normal();
    const Event event{.features = context[shown.position], .reward = reward};
    model->Apply({&event, 1});
    const double weighted = shown.position == Best(context, taste) ? reward / shown.first : 0;
    sum += weighted;
    squares += weighted * weighted;
  }
  const double mean = sum / kRounds;
  const double error = std::sqrt((squares / kRounds - mean * mean) / kRounds);
  return (mean - length * Dot(theta, taste)) / error;
}

// A share of 0.954 would be within 2; estimates whose propensities were wrong by a tenth are not.
TEST(OffPolicy, EstimatesOfAFixedPolicyAreWithinTwoStandardErrors) {
  const double length = LengthAlongTaste();
  const std::vector<std::pair<std::string, Rule>> rules = {{"Thompson", MakeThompson(100, 0.2)},
                                                           {"uniform mix", MakeUniformMix(0.2)},
                                                           {"softmax", MakeSoftmax(0.5)},
                                                           {"inverse gap", MakeInverseGap(20)}};
  for (const auto& [name, rule] : rules) {
    int within = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      within += std::abs(DeviationInWorld(seed, *rule, length)) <= 2 ? 1 : 0;
    }
    std::printf("%s: %d of 100 worlds within 2 standard errors\n", name.c_str(), within);
    EXPECT_GE(within, 90) << name;
  }
}

}  // namespace
}  // namespace bandana::testing

// Column scoring and the compact LinUCB against ScoreArms and BanditModel, on seeded random cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/bandits/coupling.h"
#include "common/bandits/model.h"
#include "common/ranking/scoring.h"
#include "research/compact/column_scoring.h"
#include "research/compact/compact_linucb.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Arms {
  std::vector<double> rows;    // as ScoreArms has them
  std::vector<float> columns;  // as ColumnScorer has them
  std::size_t stride;
};

Arms RandomArms(int d, int n, TestRng& rng) {
  Arms arms;
  arms.stride = n + 3;
  arms.columns.assign(arms.stride * d + ColumnScorer::kLanes, 1e30f);  // nobody may choose these
  for (int a = 0; a < n; ++a) {
    const std::vector<double> x = rng.UnitVector(d);
    for (int c = 0; c < d; ++c) {
      arms.columns[c * arms.stride + a] = static_cast<float>(x[c]);
      arms.rows.push_back(arms.columns[c * arms.stride + a]);
    }
  }
  return arms;
}

NodePosterior RandomPosterior(int d, double alpha, TestRng& rng) {
  NodePosterior posterior;
  for (int i = 0; i < d; ++i) posterior.mean.push_back(rng.Normal());
  std::vector<double> factor(static_cast<std::size_t>(d) * d);
  for (double& f : factor) f = rng.Normal() / std::sqrt(d);
  posterior.covariance.assign(factor.size(), 0.0);
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j < d; ++j) {
      for (int l = 0; l < d; ++l)
        posterior.covariance[i * d + j] += factor[i * d + l] * factor[j * d + l];
    }
  }
  posterior.alpha = alpha;
  return posterior;
}

TEST(ColumnScorer, ChoosesTheArmThatScoreArmsRanksFirst) {
  TestRng rng(5);
  for (int trial = 0; trial < 400; ++trial) {
    const int d = 1 + trial % 32, n = 1 + rng.Index(40);
    const NodePosterior posterior = RandomPosterior(d, trial % 3 * 0.7, rng);
    const Arms arms = RandomArms(d, n, rng);
    ArmScores scores;
    ScoreArms(posterior, arms.rows, scores);
    ColumnScorer scorer;
    scorer.Set(posterior.mean, posterior.covariance, posterior.alpha);
    const int best = scorer.Best(arms.columns.data(), arms.stride, n);
    ASSERT_GE(best, 0);
    ASSERT_LT(best, n);
    const double top = *std::max_element(scores.scores.begin(), scores.scores.end());
    EXPECT_GE(scores.scores[best], top - 2e-5 * d) << "d " << d << " n " << n;
  }
}

TEST(ColumnScorer, TakesTheFirstOfEqualArms) {
  const std::vector<double> mean = {1, 0};
  ColumnScorer scorer;
  scorer.Set(mean, {}, 0);
  std::vector<float> x(64, 0.0f);  // zero arms, then duplicates of one
  EXPECT_EQ(scorer.Best(x.data(), 30, 25), 0);
  for (const int at : {11, 19, 24}) x[at] = 0.5f;
  EXPECT_EQ(scorer.Best(x.data(), 30, 25), 11);
  EXPECT_EQ(scorer.Best(x.data() + 12, 30, 13), 7);
}

TEST(CompactLinUcb, HasThePosteriorOfTheModel) {
  TestRng rng(9);
  for (const int d : {1, 2, 5, 6, 17}) {
    auto compact = CompactLinUcb::Create(
        {.dimension = d, .observation_variance = 0.4, .prior_variance = 3, .alpha = 0.3});
    auto model = BanditModel::Create(
        {.dimension = d, .observation_variance = 0.4, .prior_variance = 3}, Coupling::Shared());
    ASSERT_THAT(compact, IsOk());
    ASSERT_THAT(model, IsOk());
    // Past one rebuild, mostly along one direction.
    for (int t = 0; t < CompactLinUcb::kRebuildEvents + 100; ++t) {
      std::vector<double> x = rng.UnitVector(d);
      if (t % 10 != 0) x.assign(d, 1 / std::sqrt(d));
      const double reward = rng.Uniform() < 0.7 ? 1 : -1;
      compact->Learn(x, reward);
      const Event event{0, x, reward};
      (*model)->Apply({&event, 1});
    }
    (*model)->Rebuild();
    const NodePosterior expected = (*model)->Posterior(0);
    for (int i = 0; i < d; ++i) {
      EXPECT_NEAR(compact->mean()[i], expected.mean[i], 1e-10);
      for (int j = 0; j < d; ++j)
        EXPECT_NEAR(compact->covariance()[i * d + j], expected.covariance[i * d + j], 1e-12);
    }
    EXPECT_EQ(compact->events(), (*model)->events());
  }
}

TEST(CompactLinUcb, NamesTheOptionThatIsOutOfRange) {
  const auto refuses = [](CompactLinUcb::Options options, const char* text) {
    EXPECT_THAT(CompactLinUcb::Create(options), StatusIs(absl::StatusCode::kInvalidArgument, text));
  };
  refuses({.dimension = 0}, "dimension must be in");
  refuses({.dimension = 33}, "dimension must be in");
  refuses({.dimension = 5, .observation_variance = kNan}, "observation_variance must be in");
  refuses({.dimension = 5, .prior_variance = 0}, "prior_variance must be in");
  refuses({.dimension = 5, .alpha = -1}, "alpha must be in");
}

}  // namespace
}  // namespace bandana::testing

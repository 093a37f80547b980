// The cost of a policy's decision beside scoring: the law and the draw, and for Thompson sampling
// the draws of the posterior. d = 25.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "common/bandits/joint/posterior_draws.h"
#include "common/random/buffered_bits.h"
#include "common/ranking/policies/selection_rules.h"
#include "common/ranking/scoring.h"

namespace bandana {
namespace {

constexpr int kDimension = 25;

struct World {
  explicit World(int n) : features(static_cast<std::size_t>(n) * kDimension) {
    NodePosterior node{.mean = std::vector<double>(kDimension, 0.1),
                       .covariance = std::vector<double>(kDimension * kDimension),
                       .alpha = 0.3};
    for (int i = 0; i < kDimension; ++i) node.covariance[i * kDimension + i] = 0.01;
    for (std::size_t i = 0; i < features.size(); ++i) {
      features[i] = 0.2 * static_cast<double>(i * 7919 % 101) / 101;
    }
    for (int a = 0; a < n; ++a) arms.push_back(features.data() + a * kDimension);
    ScoreArms(node, arms, scores);
    posterior = std::make_unique<PosteriorSnapshot>(kDimension, node, 1);
  }
  std::vector<double> features;
  std::vector<const double*> arms;
  ArmScores scores;
  std::unique_ptr<PosteriorSnapshot> posterior;
};

void Choose(benchmark::State& state, const std::shared_ptr<const SelectionRule>& chosen) {
  const SelectionRule& rule = *chosen;
  const World world(static_cast<int>(state.range(0)));
  NodePosterior scratch;
  std::vector<double> draws;
  RealSampler sampler(BufferedBits());
  for (auto step : state) {
    if (rule.draws() > 0) {
      const absl::Status drawn =
          DrawRewards(*world.posterior, {}, {.features = world.arms, .keys = {}}, rule.draws(),
                      sampler, scratch, draws);
      if (!drawn.ok()) return state.SkipWithError("no randomness");
    }
    const std::vector<double> uniform = {sampler.Uniform().value_or(0.5)};
    const Candidates arms{
        .means = world.scores.means, .scores = world.scores.scores, .draws = draws};
    benchmark::DoNotOptimize(DrawRanking(rule, arms, uniform));
  }
}

#define BANDANA_CHOOSE(name, rule) \
  BENCHMARK_CAPTURE(Choose, name, rule)->Arg(10)->Arg(100)->Arg(1000)
BANDANA_CHOOSE(uniform_mix, MakeUniformMix(0.1));
BANDANA_CHOOSE(softmax, MakeSoftmax(0.1));
BANDANA_CHOOSE(inverse_gap, MakeInverseGap(20));
BANDANA_CHOOSE(thompson_100, MakeThompson(100, 0.01));
#undef BANDANA_CHOOSE

}  // namespace
}  // namespace bandana

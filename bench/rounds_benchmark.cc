// Rounds a second of the experiments on the sphere, 25 fresh arms in R^5: environment, choice and
// learning together and apart. Rates are of CPU time.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "common/bandits/joint/joint_model.h"
#include "common/random/buffered_bits.h"
#include "research/compact/compact_linucb.h"
#include "research/rounds/sphere_rounds.h"

namespace bandana {
namespace {

constexpr int kDimension = 5;
constexpr int kArms = 25;
constexpr int kRounds = SphereRounds::kBlockRounds;

SphereRounds World() { return *SphereRounds::Create({.dimension = kDimension, .pool = kArms}); }

void CountRounds(benchmark::State& state, std::int64_t each) {
  state.counters["rounds"] = benchmark::Counter(static_cast<double>(state.iterations() * each),
                                                benchmark::Counter::kIsRate);
}

void BM_Environment(benchmark::State& state) {
  const SphereRounds world = World();
  SphereBlock block;
  std::uint64_t index = 0;
  for (auto _ : state) {
    world.Fill(index++, block);
    benchmark::DoNotOptimize(block.x.data());
  }
  CountRounds(state, kRounds);
}
BENCHMARK(BM_Environment);

void BM_LinUcb(benchmark::State& state) {
  const SphereRounds world = World();
  CompactLinUcb model = *CompactLinUcb::Create({.dimension = kDimension});
  SphereBlock block;
  std::vector<double> x(kDimension);
  std::uint64_t index = 0;
  for (auto _ : state) {
    world.Fill(index++, block);
    for (int round = 0; round < kRounds; ++round) {
      const float* arms = block.x.data() + round * kArms;
      const int shown = model.Select(arms, block.stride, kArms);
      for (int c = 0; c < kDimension; ++c) x[c] = arms[c * block.stride + shown];
      model.Learn(x, world.Reward(block, round, shown));
    }
  }
  CountRounds(state, kRounds);
}
BENCHMARK(BM_LinUcb);

// One event into the counter. 0: epochs, 1: blt.
void BM_JointApply(benchmark::State& state) {
  JointModel::Options options;
  options.counter.dimension = kDimension;
  options.counter.epsilon = {1};
  options.counter.delta = {1e-5};
  options.counter.kind = state.range(0) == 0 ? CounterKind::kEpochs : CounterKind::kBlt;
  options.refresh_share = 1e-3;
  const auto model = *JointModel::Create(options);
  const RawInteraction event({0.5, 0.5, 0.5, 0.5, 0}, 1);
  for (auto _ : state) {
    auto changed = model->Apply(event, BufferedBits());
    benchmark::DoNotOptimize(changed);
  }
  CountRounds(state, 1);
}
BENCHMARK(BM_JointApply)->Arg(0)->Arg(1);

}  // namespace
}  // namespace bandana

// Time of one release: privunit at d = 10 by epsilon, its decoding, and the papers' vector noise.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <vector>

#include "common/mechanisms/cap_design.h"
#include "common/mechanisms/privunit.h"
#include "common/random/buffered_bits.h"
#include "tools/published/published_noise.h"

namespace bandana {
namespace {

JointStatistic Phi(int dimension) { return *JointStatistic::Create({.dimension = dimension}); }

// Arguments: dimension, epsilon.
void PrivUnitRandomize(benchmark::State& state) {
  const int dimension = static_cast<int>(state.range(0));
  const JointStatistic phi = Phi(dimension);
  const PrivUnit privunit = *PrivUnit::Create(phi, {static_cast<double>(state.range(1))});
  std::vector<double> x(static_cast<std::size_t>(dimension), 0.0);
  x[0] = 1;
  const ClippedStatistics clipped = phi.Clip(RawInteraction(x, 0.5));
  for (auto _ : state) benchmark::DoNotOptimize(privunit.Randomize(clipped, BufferedBits()));
  state.counters["directions"] = 1 / privunit.design().acceptance;
}
BENCHMARK(PrivUnitRandomize)
    ->Args({10, 1})
    ->Args({10, 2})
    ->Args({10, 5})
    ->Args({10, 10})
    ->Args({64, 1});

void PrivUnitDecode(benchmark::State& state) {
  const PrivUnit privunit = *PrivUnit::Create(Phi(static_cast<int>(state.range(0))), {1});
  PublicSeed seed{};
  for (auto _ : state) {
    seed[0] = std::byte(static_cast<unsigned char>(seed[0]) + 1);
    benchmark::DoNotOptimize(privunit.Decode(seed));
  }
}
BENCHMARK(PrivUnitDecode)->Arg(10)->Arg(64)->Arg(256);

void DesignTheCap(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(DesignCap(static_cast<int>(state.range(0)), {2}));
}
BENCHMARK(DesignTheCap)->Arg(66)->Arg(33'153);

// Arguments: coordinates, kind.
void SamplePublishedNoise(benchmark::State& state) {
  const PublishedNoise noise =
      *PublishedNoise::Create({.kind = static_cast<PublishedNoiseKind>(state.range(1)),
                               .epsilon = {1},
                               .size = static_cast<std::size_t>(state.range(0)),
                               .sensitivity = {1}});
  std::vector<double> out(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(noise.Sample(out, BufferedBits()));
}
BENCHMARK(SamplePublishedNoise)->Args({10, 0})->Args({10, 1})->Args({100, 0})->Args({100, 1});

}  // namespace
}  // namespace bandana

// Time of one draw from the exact samplers, words from the system's generator through BufferedBits.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "common/random/buffered_bits.h"
#include "common/random/discrete_gaussian.h"
#include "common/random/samplers.h"

namespace bandana {
namespace {

void BM_Word(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(BufferedBits().NextBits(64));
}
BENCHMARK(BM_Word);

// sigma = 2^range(0) grid steps.
void BM_DiscreteGaussian(benchmark::State& state) {
  const DiscreteGaussian gaussian =
      *DiscreteGaussian::Create(std::uint64_t{1} << (2 * state.range(0)));
  BitSource& bits = BufferedBits();
  for (auto _ : state) benchmark::DoNotOptimize(gaussian.Sample(bits));
}
BENCHMARK(BM_DiscreteGaussian)->Arg(0)->Arg(8)->Arg(20)->Arg(26);

void BM_DiscreteLaplace(benchmark::State& state) {
  const ExactScale scale{.numerator = std::uint64_t{1} << state.range(0)};
  BitSource& bits = BufferedBits();
  for (auto _ : state) benchmark::DoNotOptimize(DiscreteLaplace(scale, bits));
}
BENCHMARK(BM_DiscreteLaplace)->Arg(20);

}  // namespace
}  // namespace bandana

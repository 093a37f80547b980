// A step of the blt counter beside its noise alone: the difference is the encoding.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/mechanisms/counters/blt_decoder.h"
#include "common/mechanisms/counters/blt_design.h"
#include "common/mechanisms/counters/blt_encoder.h"
#include "common/random/buffered_bits.h"

namespace bandana {
namespace {

BltDesign Design(benchmark::State& state) {
  return *BltDesign::Create({.dimension = static_cast<std::size_t>(state.range(0)),
                             .norm_bound = 1,
                             .rho = {0.5},
                             .horizon = 1'000'000});
}

void NoiseAlone(benchmark::State& state) {
  const BltDesign design = Design(state);
  for (auto _ : state) {
    for (std::size_t c = 0; c < design.grid().dimension; ++c) {
      benchmark::DoNotOptimize(design.noise().Sample(BufferedBits()));
    }
  }
}
BENCHMARK(NoiseAlone)->Arg(25);

void EncodeStep(benchmark::State& state) {
  const BltDesign design = Design(state);
  BltEncoder encoder(design);
  const std::vector<double> g(design.grid().dimension, 0.1);
  const ClippedIncrement increment = *ClippedIncrement::Clip(g, design.grid());
  for (auto _ : state) benchmark::DoNotOptimize(encoder.Step(increment, BufferedBits()));
}
BENCHMARK(EncodeStep)->Arg(25);

void DecodeStep(benchmark::State& state) {
  const BltDesign design = Design(state);
  BltDecoder decoder(design.table(), design.grid());
  CounterRelease release{0, std::vector<std::int64_t>(design.grid().dimension, 1 << 20)};
  for (auto _ : state) {
    ++release.step;
    benchmark::DoNotOptimize(decoder.Push(release));
  }
}
BENCHMARK(DecodeStep)->Arg(25);

}  // namespace
}  // namespace bandana

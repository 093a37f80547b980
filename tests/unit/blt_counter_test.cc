// The encoder of blt against the real matrix, and at its limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/mechanisms/counters/blt_tables.h"
#include "common/mechanisms/counters/counter_encoder.h"
#include "tests/support/counter_peer.h"
#include "tests/support/seeded_bits.h"

namespace bandana::testing {
namespace {

CounterDesign Design(std::uint64_t horizon) {
  return *CounterDesign::Create(
      {.kind = CounterKind::kBlt, .norm_bound = 1, .rho = {0.5}, .horizon = horizon});
}

ClippedIncrement Clip(double g, const CounterDesign& design) {
  return *ClippedIncrement::Clip(std::vector<double>{g}, design.grid());
}

// Against C in long double; equal bits give equal noise. The rounding is the one that the
// sensitivity charges for.
TEST(BltCounterTest, EncodesWithinOneGridStepOfTheRealMatrix) {
  const CounterDesign design = Design(1'000'000);
  const Blt blt = BltOf(BltTableFor(1'000'000));
  CounterEncoder with(design), without(design);
  SeededBits bits_with(9), bits_without(9);
  std::vector<long double> buffers(blt.decay.size(), 0);
  const ClippedIncrement zero = Clip(0, design);
  for (int t = 1; t <= 3000; ++t) {
    const ClippedIncrement g = Clip(t % 3 == 0 ? -0.4 : 1.0, design);
    const long double input = static_cast<long double>(ClippedIncrementPeer::Values(g)[0]);
    long double expected = input;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      expected += blt.weight[i] * buffers[i];
      buffers[i] = (1 - static_cast<long double>(blt.decay[i])) * buffers[i] + input;
    }
    const std::int64_t got =
        with.Step(g, bits_with)->values[0] - without.Step(zero, bits_without)->values[0];
    ASSERT_NEAR(static_cast<double>(got - expected), 0, 1.001) << t;
  }
}

// Integers only: the un-noised part has one value on every machine.
TEST(BltCounterTest, EncodingIsPinned) {
  const CounterDesign design = Design(1000);
  ASSERT_EQ(design.grid().exponent, -24);
  CounterEncoder with(design), without(design);
  SeededBits bits_with(11), bits_without(11);
  const ClippedIncrement zero = Clip(0, design);
  std::vector<std::int64_t> got;
  for (int t = 1; t <= 500; ++t) {
    const ClippedIncrement g = Clip(t % 3 == 0 ? -0.375 : 0.75, design);
    const std::int64_t value =
        with.Step(g, bits_with)->values[0] - without.Step(zero, bits_without)->values[0];
    if (t == 1 || t == 2 || t == 3 || t == 500) got.push_back(value);
  }
  EXPECT_THAT(got, ::testing::ElementsAre(12582912, 18834383, 4773139, 165163076));
}

// The largest increments for ever: no sum may come near 128 bits; the sanitizer run checks it too.
TEST(BltCounterTest, LargestIncrementsStayInRange) {
  const CounterDesign design =
      *CounterDesign::Create({.norm_bound = 1, .rho = {1000}, .horizon = 10'000'000});
  CounterEncoder encoder(design);
  SeededBits bits(1);
  std::int64_t previous = 0;
  for (int t = 1; t <= 20'000; ++t) {
    const std::int64_t value = encoder.Step(Clip(1, design), bits)->values[0];
    if (t % 1000 == 0) {
      EXPECT_GT(value, previous);
      previous = value;
    }
  }
}

}  // namespace
}  // namespace bandana::testing

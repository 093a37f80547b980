#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "common/mechanisms/counters/blt_decoder.h"
#include "common/mechanisms/counters/blt_design.h"
#include "common/mechanisms/counters/blt_encoder.h"
#include "tests/support/counter_peer.h"
#include "tests/support/failing_bits.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"

namespace bandana {
namespace {

using testing::FailingBits;
using testing::IsOk;
using testing::SeededBits;
using testing::StatusIs;

BltDesign Design(std::size_t dimension, std::uint64_t horizon = 1000,
                 std::uint64_t cap = std::uint64_t{1} << 30) {
  return *BltDesign::Create(
      {.dimension = dimension, .norm_bound = 1, .rho = {0.5}, .horizon = horizon, .step_cap = cap});
}

// A made-up stream: coordinate c of step t.
std::vector<double> Input(std::size_t dimension, int t) {
  std::vector<double> g(dimension);
  for (std::size_t c = 0; c < dimension; ++c) {
    g[c] = std::sin(1.7 * t + 2.3 * static_cast<double>(c)) / std::sqrt(dimension);
  }
  return g;
}

ClippedIncrement Clip(const std::vector<double>& g, const BltDesign& design) {
  return *ClippedIncrement::Clip(g, design.grid());
}

double Norm(const std::vector<std::int64_t>& values) {
  long double sum = 0;
  for (const std::int64_t v : values) sum += static_cast<long double>(v) * v;
  return static_cast<double>(std::sqrt(sum));
}

TEST(ClippedIncrementTest, StaysWithinTheBoundForAnyInput) {
  constexpr double kHuge = std::numeric_limits<double>::max();
  const std::vector<std::vector<double>> inputs = {
      {1, 1, 1}, {kHuge, -kHuge, kHuge}, {3, 4, 0},           {-1e-300, 0, 1e300}, {0.6, 0.8, 0},
      {1, 0, 0}, {-1, 1e-9, 0},          {1e-310, 1e-310, 0}, {0.5, -0.5, 0.707}};
  for (const std::int64_t bound : {std::int64_t{1}, std::int64_t{5}, std::int64_t{1} << 31}) {
    const IncrementGrid grid = {.dimension = 3, .exponent = -31, .norm_bound = bound};
    for (const std::vector<double>& input : inputs) {
      const auto clipped = ClippedIncrement::Clip(input, grid);
      ASSERT_THAT(clipped, IsOk());
      EXPECT_LE(Norm(ClippedIncrementPeer::Values(*clipped)), static_cast<double>(bound));
    }
  }
}

TEST(ClippedIncrementTest, KeepsShortVectorsAndDirections) {
  const IncrementGrid grid = {.dimension = 2, .exponent = -10, .norm_bound = 1024};
  EXPECT_EQ(
      ClippedIncrementPeer::Values(*ClippedIncrement::Clip(std::vector<double>{0.5, -0.25}, grid)),
      (std::vector<std::int64_t>{512, -256}));
  const std::vector<std::int64_t> scaled =
      ClippedIncrementPeer::Values(*ClippedIncrement::Clip(std::vector<double>{30, -40}, grid));
  EXPECT_NEAR(static_cast<double>(scaled[0]), 0.6 * 1024, 2);
  EXPECT_NEAR(static_cast<double>(scaled[1]), -0.8 * 1024, 2);
}

TEST(ClippedIncrementTest, MapsNanAndInfinityToZero) {
  const IncrementGrid grid = {.dimension = 2, .exponent = 0, .norm_bound = 10};
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(
        ClippedIncrementPeer::Values(*ClippedIncrement::Clip(std::vector<double>{3, bad}, grid)),
        (std::vector<std::int64_t>{0, 0}));
  }
  EXPECT_THAT(ClippedIncrement::Clip(std::vector<double>{3}, grid),
              StatusIs(absl::StatusCode::kInvalidArgument, "increment must have 2 coordinates"));
}

TEST(ClippedIncrementTest, CannotBeCopiedComparedOrMadeByHand) {
  static_assert(!std::is_copy_constructible_v<ClippedIncrement>);
  static_assert(!std::is_copy_constructible_v<BltEncoder>);
  static_assert(!std::is_default_constructible_v<ClippedIncrement>);
  static_assert(
      !std::is_constructible_v<ClippedIncrement, IncrementGrid, std::vector<std::int64_t>>);
  static_assert(!std::equality_comparable<ClippedIncrement>);
}

TEST(BltDesignTest, ChargesTheCapAndStaysWithinRho) {
  for (const double rho : {1e-4, 0.1, 1.0, 50.0}) {
    for (const std::uint64_t cap :
         {std::uint64_t{1}, std::uint64_t{1000}, std::uint64_t{1} << 30}) {
      const BltDesign design = *BltDesign::Create(
          {.dimension = 25, .norm_bound = 3, .rho = {rho}, .horizon = 1000, .step_cap = cap});
      EXPECT_LE(design.cost().value, rho * (1 + 1e-9));
      EXPECT_GE(design.cost().value, rho * (1 - 1e-6));
      const Blt blt = BltOf(design.table());
      // Without the rounding term and without the cap's column it would be less.
      const double bare = 4 * std::pow(static_cast<double>(design.grid().norm_bound), 2) *
                          BltSquaredSensitivity(blt.decay, blt.weight, cap) /
                          (2 * static_cast<double>(design.noise().sigma_squared()));
      EXPECT_GT(design.cost().value, bare);
      if (rho >= 0.1) {
        EXPECT_LT(design.cost().value, bare * 1.02);
      }
    }
  }
}

TEST(BltDesignTest, PredictsTheClosedForm) {
  const BltDesign design = Design(1, 1000, 1000);
  // Delta = 2, mu = sqrt(2 rho) = 1; the rounding to the grid adds less than 1e-4.
  EXPECT_NEAR(design.PredictedVariance(1000) / (10.6627 * 4), 1, 1e-4);
}

TEST(BltDesignTest, RejectsBadOptions) {
  const auto invalid = absl::StatusCode::kInvalidArgument;
  const BltOptions good = {.dimension = 2, .norm_bound = 1, .rho = {1}};
  EXPECT_THAT(BltDesign::Create(good), IsOk());
  for (const double bad : {0.0, -1.0, 1e4, std::nan(""), std::numeric_limits<double>::infinity()}) {
    BltOptions options = good;
    options.rho = {bad};
    EXPECT_THAT(BltDesign::Create(options), StatusIs(invalid, "rho must be in"));
  }
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    BltOptions options = good;
    options.norm_bound = bad;
    EXPECT_THAT(BltDesign::Create(options), StatusIs(invalid, "norm_bound must be in"));
  }
  BltOptions options = good;
  options.dimension = 0;
  EXPECT_THAT(BltDesign::Create(options), StatusIs(invalid, "dimension must be in"));
  options = good;
  options.step_cap = 0;
  EXPECT_THAT(BltDesign::Create(options), StatusIs(invalid, "step_cap must be in"));
  options = good;
  options.horizon = 0;
  EXPECT_THAT(BltDesign::Create(options), StatusIs(invalid, "horizon must be in"));
  options = {.dimension = 65536, .norm_bound = 1, .rho = {1e-7}};
  options.step_cap = std::uint64_t{1} << 40;
  EXPECT_THAT(BltDesign::Create(options), StatusIs(invalid, "step_cap x dimension"));
}

// Equal bits give equal noise, whatever the data: the difference of two runs is the un-noised
// difference, whose decoding is the prefix sum.
TEST(BltCounterTest, DecodingUndoesEncodingUpToTheNoise) {
  for (const BltTable& table : BltTables()) {
    SCOPED_TRACE(table.design_horizon);
    constexpr std::size_t kDimension = 3;
    const BltDesign design = Design(kDimension, table.design_horizon);
    BltEncoder with(design), without(design);
    SeededBits bits_with(7), bits_without(7);
    BltDecoder decoder(design.table(), design.grid());
    std::vector<double> sum(kDimension, 0);
    for (int t = 1; t <= 1500; ++t) {
      const ClippedIncrement g = Clip(Input(kDimension, t), design);
      const ClippedIncrement zero = Clip(std::vector<double>(kDimension, 0), design);
      CounterRelease release = *with.Step(g, bits_with);
      const CounterRelease noise = *without.Step(zero, bits_without);
      for (std::size_t c = 0; c < kDimension; ++c) {
        release.values[c] -= noise.values[c];
        sum[c] += static_cast<double>(ClippedIncrementPeer::Values(g)[c]);
      }
      ASSERT_THAT(decoder.Push(release), IsOk());
      for (std::size_t c = 0; c < kDimension; ++c) {
        // B's row times half a grid step each: sum |b_k| / 2 over 1500 steps, below 60.
        ASSERT_NEAR(std::ldexp(decoder.Estimate()[c], -design.grid().exponent), sum[c], 60) << t;
      }
    }
    EXPECT_EQ(decoder.step(), 1500);
  }
}

// The same against C in long double: the rounding is the one that the sensitivity charges for.
TEST(BltCounterTest, EncodesWithinOneGridStepOfTheRealMatrix) {
  const BltDesign design = Design(1, 1'000'000);
  const Blt blt = BltOf(design.table());
  BltEncoder with(design), without(design);
  SeededBits bits_with(9), bits_without(9);
  std::vector<long double> buffers(blt.decay.size(), 0);
  const ClippedIncrement zero = Clip({0}, design);
  for (int t = 1; t <= 3000; ++t) {
    const ClippedIncrement g = Clip({t % 3 == 0 ? -0.4 : 1.0}, design);
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
  const BltDesign design = Design(1);
  ASSERT_EQ(design.grid().exponent, -24);
  BltEncoder with(design), without(design);
  SeededBits bits_with(11), bits_without(11);
  const ClippedIncrement zero = Clip({0}, design);
  std::vector<std::int64_t> got;
  for (int t = 1; t <= 500; ++t) {
    const ClippedIncrement g = Clip({t % 3 == 0 ? -0.375 : 0.75}, design);
    const std::int64_t value =
        with.Step(g, bits_with)->values[0] - without.Step(zero, bits_without)->values[0];
    if (t == 1 || t == 2 || t == 3 || t == 500) got.push_back(value);
  }
  EXPECT_THAT(got, ::testing::ElementsAre(12582912, 18834383, 4773139, 165163076));
}

TEST(BltCounterTest, RefusesStepsPastTheCap) {
  const BltDesign design = Design(1, 1000, 2);
  BltEncoder encoder(design);
  SeededBits bits(1);
  EXPECT_THAT(encoder.Step(Clip({1}, design), bits), IsOk());
  EXPECT_THAT(encoder.Step(Clip({1}, design), bits), IsOk());
  EXPECT_THAT(encoder.Step(Clip({1}, design), bits),
              StatusIs(absl::StatusCode::kFailedPrecondition, "cap of 2 steps"));
  EXPECT_EQ(encoder.step(), 2);
  const SealedState sealed = encoder.Seal();
  BltEncoder restored = *BltEncoder::Restore(design, sealed.bytes());
  EXPECT_THAT(restored.Step(Clip({1}, design), bits),
              StatusIs(absl::StatusCode::kFailedPrecondition, "cap of 2 steps"));
}

TEST(BltCounterTest, EntropyFailureReleasesNothingAndKeepsTheState) {
  const BltDesign design = Design(4);
  BltEncoder encoder(design);
  for (const std::size_t bytes : {0, 8, 100, 300}) {
    FailingBits dry(bytes);
    EXPECT_THAT(encoder.Step(Clip(Input(4, 1), design), dry),
                StatusIs(absl::StatusCode::kUnavailable));
    EXPECT_EQ(encoder.step(), 0);
  }
  BltEncoder fresh(design);
  SeededBits bits(3), same_bits(3);
  EXPECT_EQ(*encoder.Step(Clip(Input(4, 1), design), bits),
            *fresh.Step(Clip(Input(4, 1), design), same_bits));
}

TEST(BltCounterTest, RejectsAnIncrementOfAnotherGrid) {
  const BltDesign design = Design(2);
  IncrementGrid wider = design.grid();
  ++wider.norm_bound;
  BltEncoder encoder(design);
  SeededBits bits(1);
  EXPECT_THAT(encoder.Step(*ClippedIncrement::Clip(std::vector<double>{1, 0}, wider), bits),
              StatusIs(absl::StatusCode::kInvalidArgument, "clipped on the counter's grid"));
}

TEST(BltCounterTest, RestartGivesTheSameReleases) {
  const BltDesign design = Design(3);
  BltEncoder encoder(design);
  SeededBits bits(5);
  for (int t = 1; t <= 40; ++t) ASSERT_THAT(encoder.Step(Clip(Input(3, t), design), bits), IsOk());
  const SealedState sealed = encoder.Seal();
  BltEncoder restored = *BltEncoder::Restore(design, sealed.bytes());
  EXPECT_EQ(restored.step(), 40);
  SeededBits later(6), same_later(6);
  for (int t = 41; t <= 80; ++t) {
    ASSERT_EQ(*encoder.Step(Clip(Input(3, t), design), later),
              *restored.Step(Clip(Input(3, t), design), same_later));
  }
}

TEST(BltCounterTest, RejectsDamagedAndForeignStates) {
  const BltDesign design = Design(2);
  BltEncoder encoder(design);
  SeededBits bits(5);
  ASSERT_THAT(encoder.Step(Clip(Input(2, 1), design), bits), IsOk());
  const SealedState sealed = encoder.Seal();
  const std::vector<std::byte> good(sealed.bytes().begin(), sealed.bytes().end());
  const auto data_loss = absl::StatusCode::kDataLoss;
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::vector<std::byte> bad = good;
    bad[i] ^= std::byte{1};
    EXPECT_THAT(BltEncoder::Restore(design, bad), StatusIs(data_loss)) << i;
    bad = std::vector<std::byte>(good.begin(), good.begin() + i);
    EXPECT_THAT(BltEncoder::Restore(design, bad), StatusIs(data_loss)) << i;
  }
  EXPECT_THAT(BltEncoder::Restore(Design(2, 1000, 77), good),
              StatusIs(absl::StatusCode::kFailedPrecondition, "another design"));
  // Right seal, impossible contents.
  EncoderState wild;
  wild.step = 1;
  wild.sums.assign(design.table().decay.size() * 2, static_cast<__int128>(1) << 100);
  EXPECT_THAT(BltEncoder::Restore(design, SealState(design.digest(), wild).bytes()),
              StatusIs(data_loss, "a sum is out of range"));
}

// The largest increments for ever: no sum may come near 128 bits; the sanitizer run checks it too.
TEST(BltCounterTest, LargestIncrementsStayInRange) {
  const BltDesign design =
      *BltDesign::Create({.dimension = 1, .norm_bound = 1, .rho = {1000}, .horizon = 10'000'000});
  BltEncoder encoder(design);
  SeededBits bits(1);
  std::int64_t previous = 0;
  for (int t = 1; t <= 20'000; ++t) {
    const std::int64_t value = encoder.Step(Clip({1}, design), bits)->values[0];
    if (t % 1000 == 0) {
      EXPECT_GT(value, previous);
      previous = value;
    }
  }
}

TEST(BltDecoderTest, RefusesReleasesOutOfOrderOrOfAnotherShape) {
  const BltDesign design = Design(2);
  BltDecoder decoder(design.table(), design.grid());
  EXPECT_THAT(decoder.Push({2, {0, 0}}),
              StatusIs(absl::StatusCode::kFailedPrecondition, "release must be of step 1"));
  EXPECT_THAT(decoder.Push({1, {0}}),
              StatusIs(absl::StatusCode::kInvalidArgument, "release must have 2 values"));
  EXPECT_THAT(decoder.Push({1, {0, 0}}), IsOk());
  EXPECT_EQ(decoder.step(), 1);
}

}  // namespace
}  // namespace bandana

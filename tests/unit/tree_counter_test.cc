#include "common/mechanisms/counters/tree_counter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

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

TreeDesign Design(std::size_t dimension, std::uint64_t horizon) {
  return *TreeDesign::Create(
      {.dimension = dimension, .norm_bound = 1, .rho = {0.5}, .horizon = horizon});
}

ClippedIncrement Input(const TreeDesign& design, int t) {
  std::vector<double> g(design.grid().dimension);
  for (std::size_t c = 0; c < g.size(); ++c) {
    g[c] = std::sin(1.7 * t + 2.3 * static_cast<double>(c)) / std::sqrt(g.size());
  }
  return *ClippedIncrement::Clip(g, design.grid());
}

ClippedIncrement Zero(const TreeDesign& design) {
  return *ClippedIncrement::Clip(std::vector<double>(design.grid().dimension, 0), design.grid());
}

// Equal bits give equal noise: the difference of two runs is un-noised.
TEST(TreeCounterTest, DecodingUndoesEncodingUpToTheNoise) {
  for (const auto estimator : {TreeDecoder::Estimator::kPlain, TreeDecoder::Estimator::kHonaker}) {
    const TreeDesign design = Design(2, 300);
    TreeEncoder with(design), without(design);
    SeededBits bits_with(3), bits_without(3);
    TreeDecoder decoder(design, estimator);
    std::vector<double> sum(2, 0);
    for (int t = 1; t <= 300; ++t) {
      const ClippedIncrement g = Input(design, t);
      CounterRelease release = *with.Step(g, bits_with);
      const CounterRelease noise = *without.Step(Zero(design), bits_without);
      ASSERT_EQ(release.values.size(), 2 * (std::countr_zero(static_cast<unsigned>(t)) + 1));
      for (std::size_t k = 0; k < release.values.size(); ++k) release.values[k] -= noise.values[k];
      ASSERT_THAT(decoder.Push(release), IsOk());
      for (std::size_t c = 0; c < 2; ++c) {
        sum[c] += static_cast<double>(ClippedIncrementPeer::Values(g)[c]);
        ASSERT_NEAR(std::ldexp(decoder.Estimate()[c], -design.grid().exponent), sum[c], 1e-5) << t;
      }
    }
  }
}

// The change of all releases by one event, squared, is at most levels x (its change)^2: what the
// cost charges.
TEST(TreeCounterTest, OneEventReachesAtMostOneNodeALevel) {
  const TreeDesign design = Design(1, 37);
  const ClippedIncrement one = *ClippedIncrement::Clip(std::vector<double>{1}, design.grid());
  const ClippedIncrement zero = Zero(design);
  const double size = static_cast<double>(ClippedIncrementPeer::Values(one)[0]);
  double worst = 0;
  for (int event = 1; event <= 37; ++event) {
    TreeEncoder with(design), without(design);
    SeededBits bits_with(3), bits_without(3);
    double squares = 0;
    for (int t = 1; t <= 37; ++t) {
      const CounterRelease a = *with.Step(t == event ? one : zero, bits_with);
      const CounterRelease b = *without.Step(zero, bits_without);
      for (std::size_t k = 0; k < a.values.size(); ++k) {
        squares += std::pow(static_cast<double>(a.values[k] - b.values[k]) / size, 2);
      }
    }
    worst = std::max(worst, squares);
  }
  EXPECT_DOUBLE_EQ(worst, 6);
  EXPECT_EQ(design.levels(), 6);
  const double bound = static_cast<double>(design.grid().norm_bound);
  EXPECT_GE(design.cost().value,
            4 * bound * bound * worst / (2 * static_cast<double>(design.noise().sigma_squared())));
  EXPECT_NEAR(design.cost().value, 0.5, 1e-9);
}

TEST(TreeCounterTest, RestartGivesTheSameReleasesAndDamageIsFound) {
  const TreeDesign design = Design(3, 100);
  TreeEncoder encoder(design);
  SeededBits bits(5);
  for (int t = 1; t <= 45; ++t) ASSERT_THAT(encoder.Step(Input(design, t), bits), IsOk());
  const SealedState sealed = encoder.Seal();
  TreeEncoder restored = *TreeEncoder::Restore(design, sealed.bytes());
  SeededBits later(6), same_later(6);
  for (int t = 46; t <= 100; ++t) {
    ASSERT_EQ(*encoder.Step(Input(design, t), later), *restored.Step(Input(design, t), same_later));
  }
  std::vector<std::byte> bad(sealed.bytes().begin(), sealed.bytes().end());
  bad[60] ^= std::byte{4};
  EXPECT_THAT(TreeEncoder::Restore(design, bad), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(TreeEncoder::Restore(Design(3, 101), sealed.bytes()),
              StatusIs(absl::StatusCode::kFailedPrecondition, "another design"));
  EncoderState wild;
  wild.sums.assign(design.levels() * 3, static_cast<__int128>(1) << 70);
  EXPECT_THAT(TreeEncoder::Restore(design, SealState(design.digest(), wild).bytes()),
              StatusIs(absl::StatusCode::kDataLoss, "out of range"));
}

TEST(TreeCounterTest, RefusesStepsPastTheHorizonAndAForeignGrid) {
  const TreeDesign design = Design(1, 2);
  TreeEncoder encoder(design);
  TreeDecoder decoder(design, TreeDecoder::Estimator::kPlain);
  SeededBits bits(1);
  IncrementGrid wider = design.grid();
  ++wider.norm_bound;
  EXPECT_THAT(encoder.Step(*ClippedIncrement::Clip(std::vector<double>{1}, wider), bits),
              StatusIs(absl::StatusCode::kInvalidArgument, "counter's grid"));
  for (int t = 1; t <= 2; ++t) {
    EXPECT_THAT(decoder.Push(*encoder.Step(Zero(design), bits)), IsOk());
  }
  EXPECT_THAT(encoder.Step(Zero(design), bits),
              StatusIs(absl::StatusCode::kFailedPrecondition, "cap of 2 steps"));
  EXPECT_THAT(decoder.Push({3, {0}}), StatusIs(absl::StatusCode::kFailedPrecondition, "at most 2"));
}

TEST(TreeCounterTest, EntropyFailureKeepsTheState) {
  const TreeDesign design = Design(2, 10);
  TreeEncoder encoder(design), fresh(design);
  FailingBits dry(200);
  EXPECT_THAT(encoder.Step(Input(design, 1), dry), StatusIs(absl::StatusCode::kUnavailable));
  SeededBits bits(3), same_bits(3);
  EXPECT_EQ(*encoder.Step(Input(design, 1), bits), *fresh.Step(Input(design, 1), same_bits));
}

TEST(TreeDecoderTest, RefusesReleasesOfAnotherShape) {
  TreeDecoder decoder(Design(2, 10), TreeDecoder::Estimator::kHonaker);
  EXPECT_THAT(decoder.Push({2, {0, 0, 0, 0}}), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(decoder.Push({1, {0}}), StatusIs(absl::StatusCode::kInvalidArgument, "2 values"));
}

TEST(TreeDesignTest, RejectsBadOptions) {
  const auto invalid = absl::StatusCode::kInvalidArgument;
  for (const double bad : {0.0, -1.0, 1e4, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(TreeDesign::Create({.rho = {bad}}), StatusIs(invalid, "rho must be in"));
  }
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(TreeDesign::Create({.norm_bound = bad, .rho = {1}}),
                StatusIs(invalid, "norm_bound must be in"));
  }
  EXPECT_THAT(TreeDesign::Create({.dimension = 0, .rho = {1}}),
              StatusIs(invalid, "dimension must be in"));
  EXPECT_THAT(TreeDesign::Create({.rho = {1}, .horizon = 0}),
              StatusIs(invalid, "horizon must be in"));
}

}  // namespace
}  // namespace bandana

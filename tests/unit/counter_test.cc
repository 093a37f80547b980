// Properties of every kind of counter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/mechanisms/counters/counter_decoder.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/mechanisms/counters/counter_encoder.h"
#include "common/random/keyed_stream.h"
#include "tests/support/counter_oracle.h"
#include "tests/support/counter_peer.h"
#include "tests/support/failing_bits.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

CounterOptions Options(CounterKind kind, std::size_t dimension, std::uint64_t cap) {
  return {.kind = kind,
          .dimension = dimension,
          .norm_bound = 1,
          .rho = {0.5},
          .horizon = cap,
          .step_cap = cap};
}

CounterDesign Design(CounterKind kind, std::size_t dimension = 2, std::uint64_t cap = 300) {
  return *CounterDesign::Create(Options(kind, dimension, cap));
}

// A made-up stream.
ClippedIncrement Input(const CounterDesign& design, int t) {
  std::vector<double> g(design.grid().dimension);
  for (std::size_t c = 0; c < g.size(); ++c) {
    g[c] = std::sin(1.7 * t + 2.3 * static_cast<double>(c)) / std::sqrt(g.size());
  }
  return *ClippedIncrement::Clip(g, design.grid());
}

ClippedIncrement Constant(const CounterDesign& design, double value) {
  return *ClippedIncrement::Clip(std::vector<double>(design.grid().dimension, value),
                                 design.grid());
}

// Equal bits give equal noise, whatever the data: the difference of two encoders is un-noised.
class Pair {
 public:
  explicit Pair(const CounterDesign& design) : with_(design), without_(design) {}
  CounterRelease Step(const ClippedIncrement& g, const ClippedIncrement& other) {
    CounterRelease release = *with_.Step(g, bits_with_);
    const CounterRelease rest = *without_.Step(other, bits_without_);
    for (std::size_t k = 0; k < release.values.size(); ++k) release.values[k] -= rest.values[k];
    return release;
  }

 private:
  CounterEncoder with_, without_;
  SeededBits bits_with_{3}, bits_without_{3};
};

class CounterTest : public ::testing::TestWithParam<CounterKind> {};

INSTANTIATE_TEST_SUITE_P(Kinds, CounterTest, ::testing::ValuesIn(kCounterKinds),
                         [](const auto& info) { return std::string(CounterKindName(info.param)); });

TEST_P(CounterTest, HasANameOfItsOwn) {
  for (const CounterKind other : kCounterKinds) {
    EXPECT_EQ(CounterKindName(other) == CounterKindName(GetParam()), other == GetParam());
  }
}

TEST_P(CounterTest, DecodingUndoesEncodingUpToTheNoise) {
  const CounterDesign design = Design(GetParam());
  Pair pair(design);
  CounterDecoder decoder(design);
  std::vector<double> sum(2, 0), covered(2, 0);
  for (int t = 1; t <= 300; ++t) {
    const ClippedIncrement g = Input(design, t);
    for (int c = 0; c < 2; ++c) sum[c] += static_cast<double>(ClippedIncrementPeer::Values(g)[c]);
    const CounterRelease release = pair.Step(g, Constant(design, 0));
    ASSERT_EQ(release.values.size(), design.ReleaseSize(t));
    ASSERT_THAT(decoder.Push(release), IsOk());
    if (decoder.covered() == t) covered = sum;
    for (int c = 0; c < 2; ++c) {
      // Rounding moves an output by at most one step, B's rows sum to less than 60.
      ASSERT_NEAR(std::ldexp(decoder.Estimate()[c], -design.grid().exponent), covered[c], 60) << t;
    }
  }
  EXPECT_GT(decoder.covered(), 250);
}

// The loss (half the squared change of all releases, each in units of its noise) when the event of
// one step is replaced by its opposite.
double LossOf(const CounterDesign& design, int event, int steps) {
  const ClippedIncrement high = Constant(design, 1), low = Constant(design, -1);
  Pair pair(design);
  double squares = 0;
  for (int t = 1; t <= steps; ++t) {
    const ClippedIncrement both = Input(design, t);
    const CounterRelease shift = t == event ? pair.Step(high, low) : pair.Step(both, both);
    for (std::size_t k = 0; k < shift.values.size(); ++k) {
      squares += std::pow(static_cast<double>(shift.values[k]), 2) /
                 static_cast<double>(design.noise(t, k).sigma_squared());
    }
  }
  return squares / 2;
}

// Within the cost for every event; the largest reaches it up to the charge for rounding, so nothing
// is missing and no noise is wasted.
TEST_P(CounterTest, OneEventMovesTheReleasesByWhatTheCostCharges) {
  constexpr int kCap = 100;
  const CounterDesign design = Design(GetParam(), 1, kCap);
  double worst = 0;
  for (int event = 1; event <= kCap; ++event) {
    worst = std::max(worst, LossOf(design, event, kCap));
  }
  EXPECT_LE(worst, design.cost().value);
  EXPECT_GE(worst, design.cost().value * (1 - 1e-5));
  EXPECT_NEAR(design.cost().value, 0.5, 1e-6);
}

// Two mutants of the cost, which the test above would reject: the column up to a shorter horizon
// than the cap, and the second column for the first. The margins are far above its 1e-5.
TEST(CounterDesignTest, TheFirstColumnUpToTheCapIsTheOneThatCounts) {
  for (const CounterKind kind : {CounterKind::kToeplitz, CounterKind::kBlt, CounterKind::kEpochs}) {
    const CounterDesign design = Design(kind, 1, 400);
    const double whole = LossOf(design, 1, 400);
    EXPECT_LT(LossOf(design, 1, 40), whole * (1 - 1e-2));
    const int second = kind == CounterKind::kEpochs ? 33 : 2;
    EXPECT_LT(LossOf(design, second, 400), whole * (1 - 1e-4));
  }
}

TEST_P(CounterTest, PredictedVarianceIsTheFactorTimesTheSquaredScale) {
  constexpr std::uint64_t kCap = 300;
  const CounterDesign design = Design(GetParam(), 1, kCap);
  EXPECT_EQ(design.PredictedVariance(0), 0);
  for (std::uint64_t t = 1; t <= kCap; ++t) {
    // Delta = 2, mu = sqrt(2 rho) = 1.
    EXPECT_NEAR(design.PredictedVariance(t), 4 * design.VarianceFactor(t),
                1e-4 * design.PredictedVariance(t))
        << t;
    const double closed = testing::VarianceFactor(GetParam(), kCap, t);
    EXPECT_NEAR(design.VarianceFactor(t), closed, 1e-9 * closed) << t;
  }
}

TEST_P(CounterTest, RestartGivesTheSameReleasesAndEstimates) {
  const CounterDesign design = Design(GetParam(), 3);
  CounterEncoder encoder(design);
  CounterDecoder decoder(design);
  SeededBits bits(5);
  for (int t = 1; t <= 145; ++t) {
    ASSERT_THAT(decoder.Push(*encoder.Step(Input(design, t), bits)), IsOk());
  }
  CounterEncoder restored = *CounterEncoder::Restore(design, encoder.Seal().bytes());
  CounterDecoder again = *CounterDecoder::Restore(design, decoder.Save());
  EXPECT_EQ(restored.step(), 145);
  EXPECT_EQ(again.step(), 145);
  SeededBits later(6), same_later(6);
  for (int t = 146; t <= 300; ++t) {
    const CounterRelease release = *encoder.Step(Input(design, t), later);
    ASSERT_EQ(release, *restored.Step(Input(design, t), same_later));
    ASSERT_THAT(decoder.Push(release), IsOk());
    ASSERT_THAT(again.Push(release), IsOk());
    ASSERT_EQ(decoder.Estimate(), again.Estimate());
  }
}

TEST_P(CounterTest, RejectsDamagedAndForeignStates) {
  const CounterDesign design = Design(GetParam(), 2, 40);
  CounterEncoder encoder(design);
  CounterDecoder decoder(design);
  SeededBits bits(5);
  ASSERT_THAT(decoder.Push(*encoder.Step(Input(design, 1), bits)), IsOk());
  const SealedState sealed = encoder.Seal();
  const std::vector<std::byte> good(sealed.bytes().begin(), sealed.bytes().end());
  const std::vector<std::byte> saved = decoder.Save();
  const auto data_loss = absl::StatusCode::kDataLoss;
  for (std::size_t i = 0; i < good.size(); i += 5) {
    std::vector<std::byte> bad = good;
    bad[i] ^= std::byte{1};
    EXPECT_THAT(CounterEncoder::Restore(design, bad), StatusIs(data_loss)) << i;
    bad.assign(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_THAT(CounterEncoder::Restore(design, bad), StatusIs(data_loss)) << i;
  }
  const auto foreign = absl::StatusCode::kFailedPrecondition;
  const CounterDesign other = Design(GetParam(), 2, 33);
  EXPECT_THAT(CounterEncoder::Restore(other, good), StatusIs(foreign, "another design"));
  EXPECT_THAT(CounterDecoder::Restore(other, saved), StatusIs(foreign, "another design"));
  EXPECT_THAT(CounterDecoder::Restore(design, good), StatusIs(foreign, "another design"));
  EXPECT_THAT(CounterEncoder::Restore(design, saved), StatusIs(foreign, "another design"));
  // Right seal, impossible contents.
  EncoderState wild;
  wild.step = 1;
  wild.sums.assign(design.factors().sums() * 2, static_cast<__int128>(1) << 120);
  EXPECT_THAT(CounterEncoder::Restore(design, SealState(design.digest(), wild).bytes()),
              StatusIs(data_loss, "a sum is out of range"));
}

// Bits that a key and the step determine: a replica, and a replica restored in between, release the
// same; with another history before a step its noise is another.
TEST_P(CounterTest, KeyedBitsAddressedByTheStepReplay) {
  const CounterDesign design = Design(GetParam(), 2, 60);
  const NoiseKey key = *NoiseKey::FromBytes(std::vector<std::byte>(32, std::byte{7}));
  const auto step = [&](CounterEncoder& encoder, std::byte history) {
    NoiseAddress address{.input = NoiseInput::None()};
    address.parameters = design.digest();
    address.node = encoder.step() + 1;
    address.history.fill(history);
    KeyedStream bits = *KeyedStream::ForNode(key, address);
    return *encoder.Step(Input(design, static_cast<int>(address.node)), bits);
  };
  CounterEncoder one(design), forked(design);
  for (int t = 1; t <= 40; ++t) ASSERT_EQ(step(one, std::byte{1}), step(forked, std::byte{1}));
  CounterEncoder replica = *CounterEncoder::Restore(design, one.Seal().bytes());
  for (int t = 41; t <= 60; ++t) {
    const CounterRelease release = step(one, std::byte{1});
    EXPECT_EQ(release, step(replica, std::byte{1}));
    const CounterRelease other = step(forked, std::byte{2});
    for (std::size_t k = 0; k < release.values.size(); ++k) {
      EXPECT_NE(release.values[k], other.values[k]) << t;
    }
  }
}

TEST_P(CounterTest, RefusesStepsPastTheCapAlsoAfterARestart) {
  const CounterDesign design = Design(GetParam(), 1, 2);
  CounterEncoder encoder(design);
  CounterDecoder decoder(design);
  SeededBits bits(1);
  for (int t = 1; t <= 2; ++t) {
    ASSERT_THAT(decoder.Push(*encoder.Step(Input(design, t), bits)), IsOk());
  }
  const auto refused = absl::StatusCode::kFailedPrecondition;
  EXPECT_THAT(encoder.Step(Input(design, 3), bits), StatusIs(refused, "counter: the cap of 2"));
  EXPECT_EQ(encoder.step(), 2);
  CounterEncoder restored = *CounterEncoder::Restore(design, encoder.Seal().bytes());
  EXPECT_THAT(restored.Step(Input(design, 3), bits), StatusIs(refused, "counter: the cap of 2"));
  EXPECT_THAT(decoder.Push({3, {0}}), StatusIs(refused, "release must be of step 3, at most 2"));
}

// From the largest state that Restore accepts the step with the most nodes overflows nothing: the
// sanitizer run would see it.
TEST_P(CounterTest, TheLargestStateStaysInRange) {
  const bool toeplitz = GetParam() == CounterKind::kToeplitz;
  CounterOptions options = Options(GetParam(), 1, std::uint64_t{1} << (toeplitz ? 12 : 30));
  options.rho = {1000};
  const CounterDesign design = *CounterDesign::Create(options);
  const std::int64_t bound = design.grid().norm_bound;
  for (const int sign : {1, -1}) {
    for (const std::uint64_t step :
         {design.step_cap() - 2, design.step_cap() - 1, design.Covered(design.step_cap()) - 1}) {
      EncoderState state;
      state.step = step;
      for (std::size_t i = 0; i < design.factors().sums(); ++i) {
        state.sums.push_back(sign * design.factors().SumMax(i, bound));
      }
      auto encoder = CounterEncoder::Restore(design, SealState(design.digest(), state).bytes());
      ASSERT_THAT(encoder, IsOk());
      SeededBits bits(4);
      const auto release = encoder->Step(Constant(design, sign), bits);
      ASSERT_THAT(release, IsOk());
      for (const std::int64_t value : release->values) EXPECT_GT(sign * value, 0);
    }
  }
}

TEST_P(CounterTest, EntropyFailureReleasesNothingAndKeepsTheState) {
  const CounterDesign design = Design(GetParam(), 4);
  CounterEncoder encoder(design), fresh(design);
  SeededBits bits(3), same_bits(3);
  std::uint64_t t = 1;
  for (; design.ReleaseSize(t) == 0; ++t) {
    ASSERT_THAT(encoder.Step(Input(design, t), bits), IsOk());
    ASSERT_THAT(fresh.Step(Input(design, t), same_bits), IsOk());
  }
  for (const std::size_t bytes : {0, 8, 100}) {
    FailingBits dry(bytes);
    EXPECT_THAT(encoder.Step(Input(design, t), dry), StatusIs(absl::StatusCode::kUnavailable));
    EXPECT_EQ(encoder.step(), t - 1);
  }
  EXPECT_EQ(*encoder.Step(Input(design, t), bits), *fresh.Step(Input(design, t), same_bits));
}

TEST_P(CounterTest, RejectsForeignGridsAndReleasesOutOfOrderOrOfAnotherShape) {
  const CounterDesign design = Design(GetParam());
  IncrementGrid wider = design.grid();
  ++wider.norm_bound;
  CounterEncoder encoder(design);
  SeededBits bits(1);
  const auto invalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(encoder.Step(*ClippedIncrement::Clip(std::vector<double>{1, 0}, wider), bits),
              StatusIs(invalid, "increment must be clipped on the counter's grid"));
  CounterDecoder decoder(design);
  EXPECT_THAT(decoder.Push({2, {0, 0}}),
              StatusIs(absl::StatusCode::kFailedPrecondition, "release must be of step 1"));
  EXPECT_THAT(decoder.Push({1, {0}}), StatusIs(invalid, "release must have"));
  EXPECT_EQ(decoder.step(), 0);
}

TEST_P(CounterTest, DigestsDifferWhereverReleasesMay) {
  CounterOptions base = Options(GetParam(), 2, 300);
  std::vector<CounterOptions> all(6, base);
  all[1].dimension = 3;
  all[2].norm_bound = 1.01;
  all[3].rho = {0.51};
  all[4].step_cap = 299;
  all[5].sensitivity = 1.5;
  std::set<std::string> digests;
  for (const CounterOptions& options : all) {
    digests.insert(ToHex(CounterDesign::Create(options)->digest()));
  }
  for (const CounterKind kind : kCounterKinds) digests.insert(ToHex(Design(kind).digest()));
  EXPECT_EQ(digests.size(), all.size() + std::size(kCounterKinds) - 1);
}

TEST_P(CounterTest, RejectsBadOptions) {
  const auto invalid = absl::StatusCode::kInvalidArgument;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const CounterOptions good = Options(GetParam(), 2, 300);
  EXPECT_THAT(CounterDesign::Create(good), IsOk());
  for (const double bad : {0.0, -1.0, 1e4, std::nan(""), kInf}) {
    CounterOptions options = good;
    options.rho = {bad};
    EXPECT_THAT(CounterDesign::Create(options), StatusIs(invalid, "rho must be in"));
  }
  for (const double bad : {0.0, -1.0, std::nan(""), kInf}) {
    CounterOptions options = good;
    options.norm_bound = bad;
    EXPECT_THAT(CounterDesign::Create(options), StatusIs(invalid, "norm_bound must be in"));
    options = good;
    options.sensitivity = bad;
    EXPECT_THAT(CounterDesign::Create(options), StatusIs(invalid, "sensitivity must be in"));
  }
  CounterOptions options = good;
  options.sensitivity = 2.01;
  EXPECT_THAT(CounterDesign::Create(options), StatusIs(invalid, "sensitivity must be in"));
  options = good;
  options.dimension = 0;
  EXPECT_THAT(CounterDesign::Create(options), StatusIs(invalid, "dimension must be in"));
  options = good;
  options.step_cap = 0;
  EXPECT_THAT(CounterDesign::Create(options), StatusIs(invalid, "step_cap must be in"));
  options.step_cap = (std::uint64_t{1} << 40) + 1;
  EXPECT_THAT(CounterDesign::Create(options), StatusIs(invalid, "step_cap must be in"));
}

// Two increments within the promised distance stay within what the noise was calibrated for, after
// clipping to the grid, at the bound, inside and outside of it.
TEST(CounterDesignTest, ASmallerSensitivityCoversTheRounding) {
  constexpr double kSensitivity = 0.1;
  const CounterDesign design = *CounterDesign::Create({.kind = CounterKind::kTree,
                                                       .dimension = 4,
                                                       .norm_bound = 1,
                                                       .sensitivity = kSensitivity,
                                                       .rho = {0.5},
                                                       .horizon = 1});
  double worst = 0;
  for (int k = 0; k < 2000; ++k) {
    std::vector<double> a(4), b(4);
    for (int c = 0; c < 4; ++c) {
      a[c] = std::sin(1.3 * k + c) * (k % 3 == 0 ? 0.5 : 0.8);
      b[c] = a[c] + kSensitivity / 2 * ((k >> c) & 1 ? 1 : -1);
    }
    const ClippedIncrement left = *ClippedIncrement::Clip(a, design.grid());
    const ClippedIncrement right = *ClippedIncrement::Clip(b, design.grid());
    double squares = 0;
    for (int c = 0; c < 4; ++c) {
      squares += std::pow(static_cast<double>(ClippedIncrementPeer::Values(left)[c] -
                                              ClippedIncrementPeer::Values(right)[c]),
                          2);
    }
    worst = std::max(worst, squares / (2 * static_cast<double>(design.sigma_squared())));
  }
  EXPECT_LE(worst, design.cost().value);
  EXPECT_GE(worst, 0.99 * design.cost().value);
}

TEST(CounterDesignTest, RefusesStatesThatDoNotFitAndRoundingThatDominates) {
  const auto invalid = absl::StatusCode::kInvalidArgument;
  CounterOptions options = Options(CounterKind::kToeplitz, 65536, 65536);
  EXPECT_THAT(CounterDesign::Create(options), StatusIs(invalid, "dimension x horizon"));
  options = Options(CounterKind::kToeplitz, 1, 65537);
  EXPECT_THAT(CounterDesign::Create(options), StatusIs(invalid, "horizon must be in [1, 65536]"));
  options = Options(CounterKind::kBlt, 65536, std::uint64_t{1} << 30);
  options.step_cap = std::uint64_t{1} << 40;
  options.rho = {1e-7};
  EXPECT_THAT(CounterDesign::Create(options), StatusIs(invalid, "step_cap x dimension"));
}

// S is that of the cap, not of the design horizon: a counter that charged less would be cheaper.
TEST(CounterDesignTest, ChargesTheCap) {
  CounterOptions options = Options(CounterKind::kBlt, 1, 1000);
  const double short_cap = CounterDesign::Create(options)->PredictedVariance(1000);
  options.step_cap = std::uint64_t{1} << 30;
  const double long_cap = CounterDesign::Create(options)->PredictedVariance(1000);
  EXPECT_GT(long_cap, 1.005 * short_cap);
  EXPECT_LT(long_cap, 1.2 * short_cap);
}

}  // namespace
}  // namespace bandana::testing

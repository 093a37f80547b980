// The state machine of sparse bandits: episodes, forgetting, replay, and what it learns.
#include "common/bandits/sparse/fliphat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "common/accounting/zcdp.h"
#include "tests/support/failing_bits.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

FliphatOptions Options(int dimension, double epsilon = 5) {
  return {.dimension = dimension,
          .epsilon = {epsilon},
          .delta = {0.01},
          .sparsity = std::min(6, dimension)};
}

// Noise of episode l under a seed of its own, as a host's keyed stream gives it.
EpisodeBits Keyed(std::uint64_t key, std::vector<std::uint64_t>* asked = nullptr) {
  auto source = std::make_shared<std::unique_ptr<SeededBits>>();
  return [=](std::uint64_t episode, const NoiseInput&) -> absl::StatusOr<BitSource*> {
    if (asked != nullptr) asked->push_back(episode);
    *source = std::make_unique<SeededBits>(key * 1000 + episode);
    return source->get();
  };
}

// Rows of y = x . (1, -1, 0, ..) + noise.
struct Rows {
  explicit Rows(int dimension, std::uint64_t seed = 1) : rng(seed), x(dimension) {}
  void Next() {
    for (double& value : x) value = rng.Normal();
    reward = x[0] - (x.size() > 1 ? x[1] : 0) + 0.1 * rng.Normal();
  }
  TestRng rng;
  std::vector<double> x;
  double reward = 0;
};

FliphatState RunRounds(const Fliphat& model, int rounds, std::uint64_t key) {
  FliphatState state = model.Start();
  Rows rows(model.options().dimension);
  const EpisodeBits bits = Keyed(key);
  for (int i = 0; i < rounds; ++i) {
    rows.Next();
    EXPECT_THAT(model.Apply(state, rows.x, rows.reward, bits), IsOk());
  }
  return state;
}

TEST(FliphatTest, EpisodesDoubleAndAskForTheirNoiseOnce) {
  const Fliphat model = *Fliphat::Create(Options(8));
  FliphatState state = model.Start();
  Rows rows(8);
  std::vector<std::uint64_t> asked;
  const EpisodeBits bits = Keyed(1, &asked);
  std::vector<int> ends;
  for (int round = 1; round <= 63; ++round) {
    rows.Next();
    const std::uint64_t before = state.episode;
    ASSERT_THAT(model.Apply(state, rows.x, rows.reward, bits), IsOk());
    if (state.episode != before) {
      ends.push_back(round);
      EXPECT_EQ(state.sums.rows(), 0);
    }
  }
  EXPECT_EQ(ends, (std::vector<int>{1, 3, 7, 15, 31, 63}));
  EXPECT_EQ(asked, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5}));
}

TEST(FliphatTest, EstimateIsFrozenInsideAnEpisode) {
  const Fliphat model = *Fliphat::Create(Options(8));
  FliphatState state = RunRounds(model, 1023, 2);
  ASSERT_FALSE(state.belief.estimate.empty());
  const SparseEstimate frozen = state.belief.estimate;
  Rows rows(8, 9);
  for (int i = 0; i < 1023; ++i) {
    rows.Next();
    ASSERT_THAT(model.Apply(state, rows.x, 100, Keyed(2)), IsOk());
    ASSERT_EQ(state.belief.estimate, frozen);
  }
}

class FliphatFormTest : public ::testing::TestWithParam<FliphatForm> {};

TEST_P(FliphatFormTest, ReplayReleasesTheSame) {
  FliphatOptions options = Options(8);
  options.form = GetParam();
  const Fliphat model = *Fliphat::Create(options);
  const FliphatState once = RunRounds(model, 600, 3);
  EXPECT_EQ(once.belief.estimate, RunRounds(model, 600, 3).belief.estimate);
  EXPECT_NE(once.belief.estimate, RunRounds(model, 600, 4).belief.estimate);
}

TEST_P(FliphatFormTest, FindsTheDirectionThatMatters) {
  FliphatOptions options = Options(100);
  options.form = GetParam();
  if (GetParam() == FliphatForm::kForgetting)
    options.context_abs_max = std::sqrt(2 * std::log(100));
  const Fliphat model = *Fliphat::Create(options);
  const FliphatState state = RunRounds(model, 8191, 5);
  double along = 0, squares = 0;
  for (const SparseEntry& entry : state.belief.estimate) {
    squares += entry.value * entry.value;
    if (entry.coordinate < 2) along += entry.value * (entry.coordinate == 0 ? 1 : -1);
  }
  EXPECT_GT(along / std::sqrt(2 * squares), 0.9);  // cosine with (1, -1, 0, ..)
}

TEST_P(FliphatFormTest, NeverHasMoreEntriesThanTheSparsity) {
  FliphatOptions options = Options(20, 0.5);
  options.form = GetParam();
  options.sparsity = 3;
  const Fliphat model = *Fliphat::Create(options);
  FliphatState state = model.Start();
  Rows rows(20);
  for (int i = 0; i < 2047; ++i) {
    rows.Next();
    ASSERT_THAT(model.Apply(state, rows.x, rows.reward, Keyed(6)), IsOk());
    std::set<int> distinct;
    for (const SparseEntry& entry : state.belief.estimate) distinct.insert(entry.coordinate);
    ASSERT_EQ(distinct.size(), state.belief.estimate.size());
    ASSERT_LE(distinct.size(), 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, FliphatFormTest,
                         ::testing::Values(FliphatForm::kResidual, FliphatForm::kForgetting));

TEST(FliphatTest, ValuesComeCloseToTheParameter) {
  const FliphatState state = RunRounds(*Fliphat::Create(Options(100)), 16383, 7);
  ASSERT_GE(state.belief.estimate.size(), 2);
  for (const SparseEntry& entry : state.belief.estimate) {
    const double truth = entry.coordinate == 0 ? 1 : entry.coordinate == 1 ? -1 : 0;
    EXPECT_NEAR(entry.value, truth, 0.05) << entry.coordinate;
  }
  EXPECT_LT(state.belief.residual_abs_max, 0.3);  // from 2: the noise fell by as much
}

TEST(FliphatTest, RhoReadsAsTheEpsilonAskedFor) {
  const Fliphat model = *Fliphat::Create(Options(8, 2));
  EXPECT_LE(ZcdpEpsilon(model.rho(), {0.01})->value, 2 * (1 + 1e-6));
  EXPECT_GE(ZcdpEpsilon(model.rho(), {0.01})->value, 1.99);
}

TEST(FliphatTest, OneDimensionAndOneArmWork) {
  FliphatOptions options = Options(1);
  const FliphatState state = RunRounds(*Fliphat::Create(options), 2047, 8);
  EXPECT_EQ(state.belief.estimate.size(), 1);
  EXPECT_EQ(*GreedyArm(state.belief.estimate, std::vector<double>{-3}, 1, 0), 0);
}

TEST(FliphatTest, NanIsARowLikeAnyOther) {
  const Fliphat model = *Fliphat::Create(Options(4));
  FliphatState state = model.Start();
  for (int i = 0; i < 511; ++i) {
    ASSERT_THAT(model.Apply(state, std::vector<double>(4, kNan), kNan, Keyed(9)), IsOk());
  }
  EXPECT_EQ(state.episode, 9);
  for (const SparseEntry& entry : state.belief.estimate) EXPECT_TRUE(std::isfinite(entry.value));
}

TEST(FliphatTest, AfterAnErrorTheStateIsAsBefore) {
  const Fliphat model = *Fliphat::Create(Options(8));
  FliphatState state = RunRounds(model, 1022, 2);  // the next round ends episode 9
  ASSERT_EQ(state.sums.rows(), 511);
  const SparseEstimate before = state.belief.estimate;
  Rows rows(8, 10);
  rows.Next();
  FailingBits dry(0);
  const EpisodeBits broken = [&](std::uint64_t, const NoiseInput&) {
    return absl::StatusOr<BitSource*>(&dry);
  };
  EXPECT_THAT(model.Apply(state, rows.x, rows.reward, broken),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(model.Apply(state, std::vector<double>(7), 0, Keyed(2)),
              StatusIs(kInvalid, "features must have 8 numbers, got 7"));
  EXPECT_EQ(state.sums.rows(), 511);
  EXPECT_EQ(state.belief.estimate, before);
  FliphatState other = RunRounds(model, 1022, 2);
  ASSERT_THAT(model.Apply(state, rows.x, rows.reward, Keyed(2)), IsOk());
  ASSERT_THAT(model.Apply(other, rows.x, rows.reward, Keyed(2)), IsOk());
  EXPECT_EQ(state.belief.estimate, other.belief.estimate);
}

TEST(FliphatTest, RefusesBadOptions) {
  const auto refused = [](const std::string& message, auto change) {
    FliphatOptions options = Options(8);
    change(options);
    EXPECT_THAT(Fliphat::Create(options), StatusIs(kInvalid, message));
  };
  refused("dimension must be", [](FliphatOptions& o) { o.dimension = 0; });
  refused("sparsity must be in [1, dimension = 8], got 9",
          [](FliphatOptions& o) { o.sparsity = 9; });
  refused("sparsity must be", [](FliphatOptions& o) { o.sparsity = 0; });
  for (const double bad : {0.0, -1.0, kNan, 1e4}) {
    refused("epsilon must be", [&](FliphatOptions& o) { o.epsilon = {bad}; });
  }
  for (const double bad : {0.0, 1.0, kNan}) {
    refused("delta", [&](FliphatOptions& o) { o.delta = {bad}; });
  }
  for (const double bad : {0.0, -1.0, kNan}) {
    refused("reward_abs_max must be", [&](FliphatOptions& o) { o.reward_abs_max = bad; });
    refused("context_stddev must be", [&](FliphatOptions& o) { o.context_stddev = bad; });
    refused("context_abs_max must be", [&](FliphatOptions& o) { o.context_abs_max = bad; });
  }
  refused("epsilon is too small", [](FliphatOptions& o) { o.epsilon = {1e-4}; });
}

TEST(GreedyArmTest, TakesTheLargestPrediction) {
  const SparseEstimate estimate = {{1, 2.0}, {0, -1.0}};
  // Predictions -1, 4, NaN.
  const std::vector<double> features = {1, 0, 0, 2, kNan, 5};
  EXPECT_EQ(*GreedyArm(estimate, features, 2, 7), 1);
}

TEST(GreedyArmTest, NanIsNeverPreferred) {
  const SparseEstimate estimate = {{0, 1.0}};
  EXPECT_EQ(*GreedyArm(estimate, std::vector<double>{kNan, -1e300}, 1, 7), 1);
}

TEST(GreedyArmTest, TiesFallDifferentlyWithTheKey) {
  const std::vector<double> features(3 * 2, 1);
  std::set<int> seen;
  for (std::uint64_t key = 0; key < 50; ++key) seen.insert(*GreedyArm({}, features, 2, key));
  EXPECT_EQ(seen.size(), 3);
}

TEST(GreedyArmTest, RefusesNoArmsAndOtherShapes) {
  EXPECT_THAT(GreedyArm({}, {}, 2, 0), StatusIs(kInvalid, "features must be one or more arms"));
  EXPECT_THAT(GreedyArm({}, std::vector<double>(3), 2, 0), StatusIs(kInvalid, "features must be"));
  EXPECT_THAT(GreedyArm({}, std::vector<double>(3), 0, 0), StatusIs(kInvalid, "dimension must"));
  EXPECT_THAT(GreedyArm({{2, 1.0}}, std::vector<double>(4), 2, 0),
              StatusIs(kInvalid, "estimate must have coordinates below 2, got 2"));
}

// Noise-free sums of normal rows: one step goes at least nine tenths of the way, by the slope of
// clipped normal variables (Stein), while at most three fifths of the residuals are clipped.
TEST(ResidualUpdateTest, OneStepComesCloseWithoutNoise) {
  constexpr int kRows = 100'000;
  for (const double residual_abs_max : {1.0, 1.5, 4.0}) {
    SparseSums sums(2);
    Rows rows(2);
    for (int i = 0; i < kRows; ++i) {
      rows.Next();
      sums.Add(rows.x, rows.reward, 0,
               {.context_abs_max = 0.5, .residual_abs_max = residual_abs_max});
    }
    const auto release = *SparseRelease::Create({.given = 2, .rho = {1e6}});
    SeededBits bits(1);
    const ReleasedSums released = *release.Release(sums, std::vector<int>{0, 1}, bits);
    const SparseBelief next = UpdateByResiduals({.residual_abs_max = residual_abs_max}, released,
                                                release.stddev(), {.dimension = 2});
    ASSERT_EQ(next.estimate.size(), 2);
    EXPECT_NEAR(next.estimate[0].value, 1, 0.1);
    EXPECT_NEAR(next.estimate[1].value, -1, 0.1);
  }
}

// Twenty arms, one of them shown: along the estimate features are long, a full step would diverge.
TEST(FliphatTest, GreedyChoiceAmongManyArmsDoesNotDiverge) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Fliphat model = *Fliphat::Create(Options(30, 2));
    FliphatState state = model.Start();
    TestRng rng(seed);
    std::vector<double> arms(20 * 30);
    for (int i = 0; i < 8191; ++i) {
      for (double& value : arms) value = rng.Normal();
      const int shown = *GreedyArm(state.belief.estimate, arms, 30, rng.Bits());
      const auto x = std::span(arms).subspan(shown * 30, 30);
      const double reward = x[0] + x[1] + x[2] + 0.1 * rng.Normal();
      ASSERT_THAT(model.Apply(state, x, reward, Keyed(seed)), IsOk());
    }
    double error = 0, seen = 0;
    for (const SparseEntry& entry : state.belief.estimate) {
      const double truth = entry.coordinate < 3 ? 1 : 0;
      error += (entry.value - truth) * (entry.value - truth);
      seen += truth;
    }
    EXPECT_LT(error + 3 - seen, 0.05) << seed;
  }
}

TEST(ResidualUpdateTest, StepsAlongTheEstimateAreShortenedByTheEnergy) {
  // Mean energy 8 x 500 / 1000 = 4: the same sums move an estimate along itself a quarter as far.
  const SparseBelief belief = {.estimate = {{0, 1.0}, {1, 1.0}}, .residual_abs_max = 1};
  const auto moved = [&](double energy, double second) {
    const ReleasedSums released = {.coordinates = {0, 1},
                                   .sums = {-100, second},
                                   .unclipped = 680,
                                   .energy = energy,
                                   .rows = 1000};
    return UpdateByResiduals(belief, released, 1, {.dimension = 400}).estimate[0].value - 1;
  };
  EXPECT_NEAR(moved(500, -100), moved(125, -100) / 4, 1e-12);
  EXPECT_NEAR(moved(500, 100), moved(125, 100), 1e-12);  // across it: in full
}

TEST(ResidualUpdateTest, DropsWhatNoiseExplains) {
  const ReleasedSums released = {
      .coordinates = {0, 1}, .sums = {300, 20}, .unclipped = 680, .rows = 1000};
  const SparseBelief next =
      UpdateByResiduals({.residual_abs_max = 1}, released, 20, {.dimension = 400});
  ASSERT_EQ(next.estimate.size(), 1);
  EXPECT_EQ(next.estimate[0].coordinate, 0);
}

}  // namespace
}  // namespace bandana::testing

// The bounds of a catalogue's arms, and the search that rests on them.
#include "common/ranking/arm_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/linalg/byte_products.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

TEST(ByteProductsTest, EveryVariantEqualsPlainLoops) {
  TestRng rng(3);
  for (const ByteProductsKernel* kernel : SupportedByteProducts()) {
    for (const int features : {4, 8, 28, 256}) {
      for (const int arms : {16, 32, 112}) {
        std::vector<std::int32_t> words(static_cast<std::size_t>(features / 4 * arms));
        for (std::int32_t& word : words) {
          word = static_cast<std::int32_t>(static_cast<std::uint32_t>(rng.Bits()));
        }
        std::vector<float> v(features);
        for (float& x : v) x = static_cast<float>(rng.Normal());
        std::vector<float> products(arms);
        kernel->compute(words.data(), arms, features, v.data(), products.data());
        for (int a = 0; a < arms; ++a) {
          double expected = 0;
          for (int j = 0; j < features; ++j) {
            const auto word = static_cast<std::uint32_t>(words[j / 4 * arms + a]);
            expected += static_cast<std::int8_t>(word >> (8 * (j % 4))) * double{v[j]};
          }
          ASSERT_NEAR(products[a], expected, 1e-2) << kernel->name << features << "/" << arms;
        }
      }
    }
  }
}

TEST(ArmSketchTest, ProductsAreWithinTheErrorThatItTells) {
  TestRng rng(5);
  for (const double scale : {1.0, 1e-12, 1e9, 1e-200, 1e-320, 0.0}) {
    for (const int d : {1, 3, 25, 129}) {
      const int n = 50;
      std::vector<double> x(static_cast<std::size_t>(n) * d);
      for (double& value : x) value = scale * rng.Normal();
      std::vector<double> v(d);
      for (double& value : v) value = rng.Normal();
      const ArmSketch sketch(x, d);
      ASSERT_EQ(sketch.size(), n);
      std::vector<float> products(sketch.padded());
      const double error = sketch.Products(ArmSketch::Vector(v), products.data());
      double norm_v = 0;
      for (const double value : v) norm_v += value * value;
      for (int a = 0; a < n; ++a) {
        double product = 0;
        double norm = 0;
        for (int j = 0; j < d; ++j) {
          product += x[a * d + j] * v[j];
          norm += x[a * d + j] * x[a * d + j];
        }
        EXPECT_LE(std::abs(product - products[a]), error);
        EXPECT_GE(sketch.norms()[a], std::sqrt(norm));
        EXPECT_LE(sketch.norms()[a], std::sqrt(norm) * 1.000001 + 1e-38);
      }
      // Useful: a percent of the largest product that there may be.
      EXPECT_LE(error, 0.01 * sketch.norm_max() * std::sqrt(norm_v) * std::sqrt(d) + 1e-29);
    }
  }
}

TEST(ArmSketchTest, SaysNothingWhereNothingCanBeSaid) {
  const ArmSketch sketch(std::vector<double>{1, 2, 1e200, 3}, 2);
  std::vector<float> products(sketch.padded());
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(sketch.Products(ArmSketch::Vector(std::vector<double>{1e200, 1}), products.data()),
            infinity);
  EXPECT_EQ(
      sketch.Products(ArmSketch::Vector(std::vector<double>{std::nan(""), 1}), products.data()),
      infinity);
}

// A world of arms in runs.
struct World {
  int dimension = 1;
  NodePosterior posterior;
  ArmSearch::Common common;
  std::vector<std::vector<double>> features;  // by run
  std::vector<std::vector<float>> means;      // by run; none: no arm has anything of its own
  std::vector<std::vector<float>> variances;
  std::vector<std::vector<std::uint8_t>> rows;  // by run: on offer; empty: all
};

struct WorldRules {
  int dimension = 3;
  int runs = 6;
  int top_k = 3;
  double covariance = 0.1;
  double mean = 1;
  bool own = true;
  bool some_rows = false;
  int distinct = 0;  // arms that differ; 0: all
};

World MakeWorld(const WorldRules& rules, TestRng& rng) {
  World world;
  world.dimension = rules.dimension;
  const int d = rules.dimension;
  for (int i = 0; i < d; ++i) world.posterior.mean.push_back(rules.mean * rng.Normal());
  std::vector<double> root(static_cast<std::size_t>(d) * d);
  for (double& x : root) x = std::sqrt(rules.covariance / d) * rng.Normal();
  world.posterior.covariance.resize(root.size());
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j < d; ++j) {
      for (int k = 0; k < d; ++k) {
        world.posterior.covariance[i * d + j] += root[i * d + k] * root[j * d + k];
      }
    }
  }
  world.posterior.alpha = 0.5;
  if (rules.own) world.common = {.mean = rng.Normal(), .variance = 0.1};
  for (int r = 0; r < rules.runs; ++r) {
    const int n = 1 + static_cast<int>(rng.Uniform() * 40);
    std::vector<double> x(static_cast<std::size_t>(n) * d);
    for (int a = 0; a < n; ++a) {
      TestRng same(a % std::max(1, rules.distinct));
      for (int j = 0; j < d; ++j) x[a * d + j] = (rules.distinct > 0 ? same : rng).Normal();
    }
    world.features.push_back(x);
    if (rules.own) {
      auto& means = world.means.emplace_back(n);
      auto& variances = world.variances.emplace_back(n);
      for (int a = 0; a < n; ++a) {
        const bool seen = rng.Uniform() < 0.3 && rules.distinct == 0;
        means[a] = seen ? static_cast<float>(0.3 * rng.Normal()) : 0;
        variances[a] = seen ? static_cast<float>(0.03 * rng.Uniform()) : 0.03f;
      }
    }
    auto& rows = world.rows.emplace_back();
    for (int a = 0; a < n && rules.some_rows; ++a) {
      if (rng.Uniform() < 0.4 || a == 0) rows.push_back(static_cast<std::uint8_t>(a));
    }
  }
  return world;
}

// The arm's own effects come on top, as in models of effects.
void ScorePlainly(const World& world, const std::vector<ArmPlace>& places, ArmScores& out) {
  std::vector<const double*> x;
  for (const ArmPlace& place : places) {
    x.push_back(&world.features[place.run][static_cast<std::size_t>(place.row) * world.dimension]);
  }
  ScoreArms(world.posterior, x, out);
  if (world.means.empty()) return;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto [run, row, position] = places[i];
    const double variance =
        out.widths[i] * out.widths[i] + world.common.variance + world.variances[run][row];
    out.means[i] += world.common.mean + world.means[run][row];
    out.widths[i] = std::sqrt(variance);
    out.scores[i] = out.means[i] + world.posterior.alpha * out.widths[i];
  }
}

std::vector<ArmPlace> AllPlaces(const World& world) {
  std::vector<ArmPlace> all;
  for (std::uint32_t run = 0; run < world.features.size(); ++run) {
    const auto n = static_cast<std::uint32_t>(world.features[run].size()) / world.dimension;
    for (std::uint32_t i = 0; i < (world.rows[run].empty() ? n : world.rows[run].size()); ++i) {
      const std::uint32_t row = world.rows[run].empty() ? i : world.rows[run][i];
      all.push_back({.run = run, .row = row, .position = static_cast<int>(all.size())});
    }
  }
  return all;
}

bool Same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// The search finds what scoring all finds; returns the share that it scored.
double ExpectSameAsPlain(const World& world, int top_k, std::uint64_t tie_key) {
  const std::vector<ArmPlace> all = AllPlaces(world);
  ArmScores scores;
  ScorePlainly(world, all, scores);
  const std::vector<int> expected = RankArms(scores.scores, top_k, tie_key);

  ArmSearch search(world.posterior, world.common, top_k);
  std::vector<ArmSketch> sketches;
  for (const auto& x : world.features) sketches.emplace_back(x, world.dimension);
  for (std::size_t r = 0; r < sketches.size(); ++r) {
    ArmRun run;
    run.sketch = &sketches[r];
    run.rows = world.rows[r];
    if (!world.means.empty()) {
      run.means = world.means[r];
      run.variance_max = 0.03f;
    }
    search.Look(run);
  }
  EXPECT_EQ(search.arms(), static_cast<int>(all.size()));
  const std::vector<FoundArm> found =
      search.Finish(tie_key, [&](std::span<const ArmPlace> places, ArmScores& out) {
        ScorePlainly(world, {places.begin(), places.end()}, out);
      });
  EXPECT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    const ArmPlace& place = all[expected[i]];
    EXPECT_EQ(found[i].place.position, place.position);
    EXPECT_EQ(found[i].place.run, place.run);
    EXPECT_EQ(found[i].place.row, place.row);
    EXPECT_TRUE(Same(found[i].mean, scores.means[expected[i]]));
    EXPECT_TRUE(Same(found[i].width, scores.widths[expected[i]]));
    EXPECT_TRUE(Same(found[i].score, scores.scores[expected[i]]));
  }
  const auto ties = static_cast<double>(std::max<std::size_t>(search.ties(), 1));
  EXPECT_EQ(1 / ties, ShareOfBest(scores.scores));
  return static_cast<double>(search.scored()) / static_cast<double>(all.size());
}

TEST(ArmSearchTest, FindsWhatScoringAllFinds) {
  TestRng rng(7);
  for (int i = 0; i < 400; ++i) {
    const WorldRules rules{.dimension = 1 + static_cast<int>(rng.Uniform() * 30),
                           .runs = 1 + static_cast<int>(rng.Uniform() * 12),
                           .covariance = std::pow(10, 4 * rng.Uniform() - 4),
                           .mean = rng.Uniform() < 0.2 ? 0 : 1.0,
                           .own = rng.Uniform() < 0.7,
                           .some_rows = rng.Uniform() < 0.3,
                           .distinct = rng.Uniform() < 0.3 ? 5 : 0};
    const World world = MakeWorld(rules, rng);
    ExpectSameAsPlain(world, 1 + static_cast<int>(rng.Uniform() * 16), i);
    if (HasFailure()) FAIL() << "world " << i;
  }
}

TEST(ArmSearchTest, ScoresFewOfManyArms) {
  TestRng rng(11);
  const World world = MakeWorld({.dimension = 10, .runs = 500, .covariance = 0.01}, rng);
  EXPECT_LT(ExpectSameAsPlain(world, 10, 1), 0.05);
}

// Before the first event every arm of one norm scores alike: the hash decides.
TEST(ArmSearchTest, EqualArmsAreOrderedByTheDecision) {
  TestRng rng(13);
  World world =
      MakeWorld({.dimension = 2, .runs = 40, .mean = 0, .own = false, .distinct = 1}, rng);
  for (std::uint64_t key = 0; key < 20; ++key) ExpectSameAsPlain(world, 5, key);
}

TEST(ArmSearchTest, WithoutCovarianceMeansDecide) {
  TestRng rng(17);
  World world = MakeWorld({.dimension = 8, .runs = 100, .own = false}, rng);
  world.posterior.covariance.clear();
  EXPECT_LT(ExpectSameAsPlain(world, 3, 1), 0.2);
}

// Estimates that make no sense, and covariances that rounding has bent.
TEST(ArmSearchTest, OddPosteriorsFindTheSameArmsToo) {
  TestRng rng(19);
  const double bad[] = {std::nan(""), std::numeric_limits<double>::infinity(), 1e300, -1e300};
  for (const double value : bad) {
    World world = MakeWorld({.dimension = 4, .own = false}, rng);
    world.posterior.mean[1] = value;
    ExpectSameAsPlain(world, 4, 1);
    world = MakeWorld({.dimension = 4, .own = false}, rng);
    world.posterior.covariance[5] = value;
    ExpectSameAsPlain(world, 4, 1);
  }
  for (const double below : {1e-12, 1e-7, 1e-3, 1.0}) {
    World world = MakeWorld({.dimension = 4, .covariance = 1e-6}, rng);
    for (int i = 0; i < 4; ++i) world.posterior.covariance[i * 5] -= below * 1e-6;
    world.common.variance = 0.1;
    ExpectSameAsPlain(world, 4, 1);
  }
}

TEST(ArmSearchTest, FewerArmsThanWanted) {
  TestRng rng(23);
  const World world = MakeWorld({.runs = 1}, rng);
  ExpectSameAsPlain(world, 1000, 1);
  EXPECT_TRUE(ArmSearch(world.posterior, {}, 3).Finish(1, [](auto, auto&) {}).empty());
}

}  // namespace
}  // namespace bandana::testing

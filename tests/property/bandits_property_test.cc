// Seeded random histories: every path to the posterior agrees with every other and with the papers'
// equations. Repeat one with `bandits_property_test --seed=N`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/bandits/coupling.h"
#include "common/bandits/graph.h"
#include "common/bandits/model.h"
#include "common/ranking/scoring.h"
#include "tests/support/dense_reference.h"
#include "tests/support/test_rng.h"

namespace bandana {
namespace {

using namespace bandana::testing;

std::uint64_t seed = 20260101;

Graph RandomGraph(int nodes, TestRng& rng) {
  Graph graph;
  graph.nodes = nodes;
  for (int u = 0; u < nodes; ++u) {
    graph.entries.push_back({u, u, 1 + rng.Uniform()});
    for (int v = 0; v < u; ++v) {
      if (rng.Uniform() < 0.6) continue;
      const double weight = rng.Uniform();
      graph.entries.push_back({u, v, weight});
      graph.entries.push_back({v, u, weight});
    }
  }
  return graph;
}

// Rank one: every user is influenced by the same two users in the same way.
Graph SingularInfluence(int nodes) {
  Graph graph;
  graph.kind = Graph::Kind::kInfluence;
  graph.nodes = nodes;
  for (int u = 0; u < nodes; ++u) {
    graph.entries.push_back({0, u, 0.25});
    graph.entries.push_back({1, u, 0.75});
  }
  return graph;
}

// One of the models with the paper's factor beside it.
struct Case {
  std::string name;
  Coupling coupling;
  LongMatrix factor;
};

std::vector<Case> Cases(int nodes, int dimension, TestRng& rng) {
  constexpr double kLaplacianWeight = 0.4;
  const Graph graph = RandomGraph(nodes, rng);
  const Graph singular = SingularInfluence(nodes);
  std::vector<Case> cases;
  cases.push_back({"linucb-shared", Coupling::Shared(), IdentityFactor(1)});
  cases.push_back({"linucb", Coupling::Independent(), IdentityFactor(nodes)});
  cases.push_back({"colin", Coupling::CoLin(graph, dimension).value(), ColinFactor(graph)});
  cases.push_back(
      {"colin-singular", Coupling::CoLin(singular, dimension).value(), ColinFactor(singular)});
  cases.push_back({"goblin", Coupling::Goblin(graph, kLaplacianWeight, dimension).value(),
                   GoblinFactor(graph, kLaplacianWeight)});
  return cases;
}

std::unique_ptr<BanditModel> MakeModel(const Case& c, BanditModel::Options options, int nodes) {
  options.nodes_max = nodes;
  auto model = BanditModel::Create(options, c.coupling).value();
  while (model->nodes() < static_cast<int>(c.factor.rows())) EXPECT_TRUE(model->AddNode().ok());
  return model;
}

struct History {
  std::vector<std::vector<double>> features;
  std::vector<Event> events;
};

History RandomHistory(int count, int nodes, int dimension, TestRng& rng) {
  const std::vector<double> theta = rng.UnitVector(dimension);
  History history;
  for (int i = 0; i < count; ++i) history.features.push_back(rng.UnitVector(dimension));
  for (int i = 0; i < count; ++i) {
    double reward = 0.1 * rng.Normal();
    for (int j = 0; j < dimension; ++j) reward += theta[j] * history.features[i][j];
    history.events.push_back({rng.Index(nodes), history.features[i], reward});
  }
  return history;
}

void ApplyInChunks(BanditModel& model, std::span<const Event> all, std::size_t chunk) {
  for (std::size_t i = 0; i < all.size(); i += chunk)
    model.Apply(all.subspan(i, std::min(chunk, all.size() - i)));
}

// Largest difference over all nodes relative to the largest entry of `b`.
double Distance(const BanditModel& a, const BanditModel& b) {
  double difference[2] = {0, 0};
  double size[2] = {0, 0};
  const auto add = [&](int what, const std::vector<double>& x, const std::vector<double>& y) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      difference[what] = std::max(difference[what], std::abs(x[i] - y[i]));
      size[what] = std::max(size[what], std::abs(y[i]));
    }
  };
  for (int u = 0; u < a.nodes(); ++u) {
    const NodePosterior pa = a.Posterior(u);
    const NodePosterior pb = b.Posterior(u);
    add(0, pa.mean, pb.mean);
    add(1, pa.covariance, pb.covariance);
    EXPECT_NEAR(pa.alpha, pb.alpha, 1e-9 * pb.alpha);
  }
  return std::max(difference[0] / size[0], difference[1] / size[1]);
}

struct Shape {
  int nodes;
  int dimension;
  int events;
};

class PathsTest : public ::testing::TestWithParam<Shape> {};

TEST_P(PathsTest, RankOneBatchedAndRebuiltAgree) {
  const Shape shape = GetParam();
  TestRng rng(seed);
  for (const Case& c : Cases(shape.nodes, shape.dimension, rng)) {
    SCOPED_TRACE(c.name);
    const int nodes = static_cast<int>(c.factor.rows());
    BanditModel::Options options{
        .dimension = shape.dimension, .observation_variance = 0.3, .prior_variance = 2};
    options.exploration.kind = ExplorationRule::Kind::kConfidence;
    const History history = RandomHistory(shape.events, nodes, shape.dimension, rng);
    const auto rank_one = MakeModel(c, options, nodes);
    const auto batched = MakeModel(c, options, nodes);
    const auto rebuilt = MakeModel(c, options, nodes);
    ApplyInChunks(*rank_one, history.events, 1);
    ApplyInChunks(*batched, history.events, 397);
    std::vector<NodeStatistics> statistics;
    for (int u = 0; u < nodes; ++u) statistics.push_back(rank_one->statistics(u));
    ASSERT_TRUE(rebuilt->Restore(std::move(statistics)).ok());
    EXPECT_EQ(rebuilt->events(), history.events.size());
    EXPECT_LT(Distance(*rank_one, *rebuilt), 1e-9);
    EXPECT_LT(Distance(*batched, *rebuilt), 1e-9);
    EXPECT_LT(Distance(*rank_one, *batched), 1e-9);
  }
}

// The second has 150 rows: batches of more than one event. The third has 300: rebuilt by an
// inverse.
INSTANTIATE_TEST_SUITE_P(Shapes, PathsTest,
                         ::testing::Values(Shape{10, 5, 10'000}, Shape{6, 25, 2'000},
                                           Shape{30, 10, 1'000}));

// Events before, while and after a posterior is computed anew beside them. Equal calls give equal
// bits, however long the thread takes.
TEST(BanditsProperty, RebuiltBesideIsTheSamePosterior) {
  for (const Shape shape : {Shape{10, 5, 3'000}, Shape{6, 25, 1'000}}) {
    TestRng rng(seed + 3);
    for (const Case& c : Cases(shape.nodes, shape.dimension, rng)) {
      SCOPED_TRACE(c.name);
      const int nodes = static_cast<int>(c.factor.rows());
      const BanditModel::Options options{
          .dimension = shape.dimension, .observation_variance = 0.3, .prior_variance = 2};
      const History history = RandomHistory(shape.events, nodes, shape.dimension, rng);
      const std::size_t third = history.events.size() / 3;
      const std::span<const Event> events(history.events);
      const auto plain = MakeModel(c, options, nodes);
      const auto prompt = MakeModel(c, options, nodes);
      const auto late = MakeModel(c, options, nodes);
      ApplyInChunks(*plain, events, 64);
      for (BanditModel* const model : {prompt.get(), late.get()}) {
        ApplyInChunks(*model, events.first(third), 64);
        model->BeginRebuild();
        if (model == late.get()) absl::SleepFor(absl::Milliseconds(20));
        ApplyInChunks(*model, events.subspan(third, third), 64);
        if (model == prompt.get()) absl::SleepFor(absl::Milliseconds(20));
        model->SwapRebuilt();
        model->SwapRebuilt();  // nothing was begun
        ApplyInChunks(*model, events.subspan(2 * third), 64);
      }
      EXPECT_LT(Distance(*plain, *late), 1e-9);
      for (int u = 0; u < nodes; ++u) {
        EXPECT_EQ(prompt->Posterior(u).mean, late->Posterior(u).mean);
        EXPECT_EQ(prompt->Posterior(u).covariance, late->Posterior(u).covariance);
        EXPECT_EQ(prompt->statistics(u).gram, plain->statistics(u).gram);
      }
    }
  }
}

TEST(BanditsProperty, WhatReplacesThePosteriorEndsARebuild) {
  TestRng rng(seed + 4);
  for (const Case& c : Cases(6, 4, rng)) {
    SCOPED_TRACE(c.name);
    const int nodes = static_cast<int>(c.factor.rows());
    const History history = RandomHistory(400, nodes, 4, rng);
    const std::span<const Event> events(history.events);
    const auto whole = MakeModel(c, {.dimension = 4}, nodes);
    const auto restored = MakeModel(c, {.dimension = 4}, nodes);
    ApplyInChunks(*whole, events, 64);
    ApplyInChunks(*restored, events.first(100), 64);
    restored->BeginRebuild();
    std::vector<NodeStatistics> statistics;
    for (int u = 0; u < nodes; ++u) statistics.push_back(whole->statistics(u));
    ASSERT_TRUE(restored->Restore(std::move(statistics)).ok());
    restored->SwapRebuilt();
    EXPECT_LT(Distance(*whole, *restored), 1e-9);
    restored->BeginRebuild();  // given up when the model goes
  }
}

TEST(BanditsProperty, OrderDoesNotMatter) {
  TestRng rng(seed + 1);
  for (const Case& c : Cases(6, 4, rng)) {
    SCOPED_TRACE(c.name);
    const int nodes = static_cast<int>(c.factor.rows());
    History history = RandomHistory(600, nodes, 4, rng);
    const auto forward = MakeModel(c, {.dimension = 4}, nodes);
    const auto shuffled = MakeModel(c, {.dimension = 4}, nodes);
    ApplyInChunks(*forward, history.events, 64);
    for (std::size_t i = history.events.size() - 1; i > 0; --i) {
      std::swap(history.events[i], history.events[rng.Index(static_cast<int>(i) + 1)]);
    }
    ApplyInChunks(*shuffled, history.events, 50);
    EXPECT_LT(Distance(*forward, *shuffled), 1e-10);
  }
}

TEST(BanditsProperty, EqualsThePapersEquations) {
  constexpr int kNodes = 5;
  constexpr int kDimension = 3;
  constexpr double kLambda = 0.7;
  TestRng rng(seed + 2);
  for (const Case& c : Cases(kNodes, kDimension, rng)) {
    SCOPED_TRACE(c.name);
    const int nodes = static_cast<int>(c.factor.rows());
    BanditModel::Options options{
        .dimension = kDimension, .observation_variance = 1, .prior_variance = 1 / kLambda};
    options.exploration.kind = ExplorationRule::Kind::kConfidence;
    const auto model = MakeModel(c, options, nodes);
    // LinUCB a user is N papers' models in one: its bound and its log determinant are each user's
    // own.
    PaperModel paper(c.factor, kDimension, kLambda);
    const long double log_det_prior = paper.LogDet();
    const History history = RandomHistory(120, nodes, kDimension, rng);
    for (const Event& event : history.events) paper.Add(event);
    ApplyInChunks(*model, history.events, 7);

    for (int u = 0; u < nodes; ++u) {
      const NodePosterior posterior = model->Posterior(u);
      ArmScores scores;
      for (int trial = 0; trial < 10; ++trial) {
        const std::vector<double> x = rng.UnitVector(kDimension);
        ScoreArms(posterior, x, scores);
        const double mean = static_cast<double>(paper.Mean(u, x));
        const double width = static_cast<double>(paper.Width(u, x));
        EXPECT_NEAR(scores.means[0], mean, 1e-9);
        EXPECT_NEAR(scores.widths[0], width, 1e-9 * width);
        EXPECT_NEAR(scores.scores[0], mean + posterior.alpha * width, 1e-9);
      }
      if (c.name == "linucb" || c.coupling.components().size() > 1) continue;
      const double log_det = static_cast<double>(paper.LogDet() - log_det_prior);
      EXPECT_NEAR(posterior.alpha, std::sqrt(log_det - 2 * std::log(0.01)) + std::sqrt(kLambda),
                  1e-9);
    }
  }
}

// The data are 1e10 times stronger than the prior: K_0 - K_0 F (..)^-1 F' K_0 would keep six digits
// of K.
TEST(BanditsProperty, RebuildKeepsRelativeAccuracyUnderStrongData) {
  constexpr int kNodes = 5;
  constexpr int kDimension = 3;
  constexpr double kObservation = 1e-6;
  constexpr double kPrior = 1e2;
  TestRng rng(seed + 3);
  for (const Case& c : Cases(kNodes, kDimension, rng)) {
    if (c.name == "colin-singular") continue;  // its reference has no inverse to compare with
    SCOPED_TRACE(c.name);
    const int nodes = static_cast<int>(c.factor.rows());
    const auto model = MakeModel(
        c,
        {.dimension = kDimension, .observation_variance = kObservation, .prior_variance = kPrior},
        nodes);
    PaperModel paper(c.factor, kDimension, kObservation / kPrior);
    const History history = RandomHistory(2'000, nodes, kDimension, rng);
    for (const Event& event : history.events) paper.Add(event);
    model->Apply(history.events);
    model->Rebuild();
    for (int u = 0; u < nodes; ++u) {
      const std::vector<double> x = rng.UnitVector(kDimension);
      ArmScores scores;
      ScoreArms(model->Posterior(u), x, scores);
      const double width = static_cast<double>(std::sqrt(static_cast<long double>(kObservation)) *
                                               paper.Width(u, x));
      EXPECT_NEAR(scores.widths[0], width, 1e-9 * width);
      EXPECT_NEAR(scores.means[0], static_cast<double>(paper.Mean(u, x)), 1e-9);
    }
  }
}

// 300 rows: the first prior is near the limit up to which a rebuild takes an inverse, the second
// far beyond it.
TEST(BanditsProperty, RebuildOfManyRowsKeepsItsAccuracy) {
  constexpr int kNodes = 30;
  constexpr int kDimension = 10;
  TestRng rng(seed + 5);
  for (const double prior : {1e4, 1e9}) {
    for (const Case& c : Cases(kNodes, kDimension, rng)) {
      if (c.name != "colin" && c.name != "goblin") continue;
      SCOPED_TRACE(c.name);
      const auto model = MakeModel(
          c, {.dimension = kDimension, .observation_variance = 1, .prior_variance = prior}, kNodes);
      PaperModel paper(c.factor, kDimension, 1 / prior);
      const History history = RandomHistory(600, kNodes, kDimension, rng);
      for (const Event& event : history.events) paper.Add(event);
      model->Apply(history.events);
      model->Rebuild();
      for (const int u : {0, 13, 29}) {
        const std::vector<double> x = rng.UnitVector(kDimension);
        ArmScores scores;
        ScoreArms(model->Posterior(u), x, scores);
        const double width = static_cast<double>(paper.Width(u, x));
        EXPECT_NEAR(scores.widths[0], width, 1e-9 * width);
        EXPECT_NEAR(scores.means[0], static_cast<double>(paper.Mean(u, x)), 1e-8);
      }
    }
  }
}

// prior_variance / observation_variance = 1e20: rank-one updates lose every digit of K. The model
// notices and rebuilds.
TEST(BanditsProperty, LostDefinitenessIsRepaired) {
  TestRng rng(seed + 4);
  for (const Case& c : Cases(4, 3, rng)) {
    SCOPED_TRACE(c.name);
    const int nodes = static_cast<int>(c.factor.rows());
    const auto model = MakeModel(
        c, {.dimension = 3, .observation_variance = 1e-10, .prior_variance = 1e10}, nodes);
    const History history = RandomHistory(500, nodes, 3, rng);
    ApplyInChunks(*model, history.events, 3);
    for (int u = 0; u < nodes; ++u) {
      const NodePosterior posterior = model->Posterior(u);
      for (double v : posterior.mean) EXPECT_LT(std::abs(v), 1e3);
      for (double v : posterior.covariance) EXPECT_LE(std::abs(v), 1e10);
      for (int i = 0; i < 3; ++i) EXPECT_GE(posterior.covariance[i * 3 + i], 0);
    }
  }
}

}  // namespace
}  // namespace bandana

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.substr(0, 7) == "--seed=") bandana::seed = std::strtoull(argv[i] + 7, nullptr, 10);
  }
  std::printf("--seed=%llu\n", static_cast<unsigned long long>(bandana::seed));
  return RUN_ALL_TESTS();
}

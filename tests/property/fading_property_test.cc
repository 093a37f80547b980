// Models that forget against ridge regression that weighs every event by its age, and what a
// restart in the middle changes: nothing. Repeat one with `fading_property_test --seed=N`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "common/bandits/coupling.h"
#include "common/bandits/fading.h"
#include "common/bandits/graph.h"
#include "common/bandits/model.h"
#include "common/bandits/statistics.h"
#include "common/ranking/scoring.h"
#include "tests/support/dense_reference.h"
#include "tests/support/test_rng.h"

namespace bandana {
namespace {

using namespace bandana::testing;

std::uint64_t seed = 20261123;

constexpr int kNodes = 3;

TEST(FadingWeight, HalvesWithEveryHalfLifeToTheBit) {
  for (std::uint64_t steps = 0; steps < 1000; ++steps) {
    EXPECT_EQ(FadingWeight(steps + kFadingSteps), FadingWeight(steps) / 2) << steps;
    EXPECT_LT(FadingWeight(steps + 1), FadingWeight(steps)) << steps;
    const double exact = std::exp2(-static_cast<double>(steps) / kFadingSteps);
    EXPECT_NEAR(FadingWeight(steps), exact, 1e-15 * exact) << steps;
  }
  EXPECT_EQ(FadingWeight(0), 1);
}

TEST(FadingWeight, IsZeroAfterSixtyFourHalfLives) {
  EXPECT_GT(FadingWeight(64 * kFadingSteps - 1), 0);
  EXPECT_EQ(FadingWeight(64 * kFadingSteps), 0);
  EXPECT_EQ(FadingWeight(UINT64_MAX), 0);
}

TEST(FadeTo, NoiseOfReportsFadesWithTheSquareOfTheWeight) {
  NodeStatistics reports = EmptyStatistics(1);
  double squares = 0;  // of the weights
  for (const int steps : {0, 0, 0, 7, 7, 40, 100}) {
    const double weight = FadingWeight(static_cast<std::uint64_t>(steps) - reports.steps);
    squares *= weight * weight;
    FadeReportsTo(static_cast<std::uint64_t>(steps), reports);
    ++reports.events;
    ++squares;
    EXPECT_NEAR(static_cast<double>(reports.events) - reports.noise_faded, squares, 1e-12);
  }
}

TEST(CheckSteps, RefusesStatisticsOfALaterStepOrOfLessThanNoNoise) {
  NodeStatistics statistics = EmptyStatistics(1);
  statistics.events = 3;
  statistics.steps = 5;
  EXPECT_TRUE(CheckSteps(statistics, 5).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(CheckSteps(statistics, 4)));
  for (const double faded : {-1e-3, 3.5, std::nan("")}) {
    statistics.noise_faded = faded;
    EXPECT_TRUE(absl::IsInvalidArgument(CheckSteps(statistics, 5))) << faded;
  }
}

// One thing that happens: an event, or time that passes.
struct Happening {
  std::uint64_t steps = 0;  // the present one from here on
  int node = -1;            // -1: no event
  std::vector<double> x;
  double reward = 0;
};

// Users with no, few and many events; times with none; more than 64 half-lives in between.
std::vector<Happening> RandomHistory(int count, int d, TestRng& rng) {
  std::vector<Happening> history;
  std::uint64_t steps = 0;
  for (int i = 0; i < count; ++i) {
    Happening& one = history.emplace_back();
    if (rng.Uniform() < 0.2) steps += static_cast<std::uint64_t>(rng.Index(20));
    if (i == count / 4) steps += 65 * kFadingSteps;
    one.steps = steps;
    if (rng.Uniform() < 0.2) continue;
    one.node = rng.Uniform() < 0.85 ? 0 : 1;  // the third has none
    one.x = rng.UnitVector(d);
    one.reward = rng.Uniform();
  }
  return history;
}

struct Case {
  std::string_view name;
  Coupling coupling;
  testing::LongMatrix factor;
  int nodes = kNodes;
};

std::vector<Case> Cases(int d) {
  const Graph graph{.nodes = kNodes,
                    .entries = {{0, 0, 1}, {1, 1, 1}, {2, 2, 1}, {0, 1, 0.5}, {1, 0, 0.5}}};
  return {{"shared", Coupling::Shared(), testing::IdentityFactor(1), 1},
          {"independent", Coupling::Independent(), testing::IdentityFactor(kNodes)},
          {"goblin", Coupling::Goblin(graph, 2, d).value(), testing::GoblinFactor(graph, 2)}};
}

std::unique_ptr<BanditModel> ModelOf(const Case& c, int d, double lambda) {
  BanditModel::Options options{
      .dimension = d, .observation_variance = 1, .prior_variance = 1 / lambda};
  options.exploration.kind = ExplorationRule::Kind::kConfidence;
  options.nodes_max = kNodes;
  auto model = BanditModel::Create(options, c.coupling).value();
  while (model->nodes() < c.nodes) EXPECT_TRUE(model->AddNode().ok());
  return model;
}

int NodeIn(const Case& c, const Happening& one) { return std::min(one.node, c.nodes - 1); }

void Happen(const Case& c, const Happening& one, BanditModel& model) {
  model.FadeTo(one.steps);
  if (one.node < 0) return;
  model.Apply(
      std::vector<Event>{{.node = NodeIn(c, one), .features = one.x, .reward = one.reward}});
}

// The papers' equations for events that are each as large as the root of their weight.
PaperModel Reference(const Case& c, const std::vector<Happening>& history, std::size_t count, int d,
                     double lambda) {
  PaperModel paper(c.factor, d, lambda);
  const std::uint64_t now = history[count - 1].steps;
  for (std::size_t i = 0; i < count; ++i) {
    const Happening& one = history[i];
    if (one.node < 0) continue;
    const double age = static_cast<double>(now - one.steps);
    const double root = std::exp2(-age / kFadingSteps / 2);
    std::vector<double> x = one.x;
    for (double& v : x) v *= root;
    paper.Add({.node = NodeIn(c, one), .features = x, .reward = root * one.reward});
  }
  return paper;
}

class FadingModelTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Dimensions, FadingModelTest, ::testing::Values(1, 4, 9));

TEST_P(FadingModelTest, IsRidgeRegressionOnEventsWeighedByAge) {
  const int d = GetParam();
  constexpr double kLambda = 0.7;
  TestRng rng(seed + d);
  for (const Case& c : Cases(d)) {
    const auto model = ModelOf(c, d, kLambda);
    const std::vector<Happening> history = RandomHistory(80, d, rng);
    const double prior = static_cast<double>(PaperModel(c.factor, d, kLambda).LogDet());
    for (std::size_t i = 0; i < history.size(); ++i) {
      Happen(c, history[i], *model);
      if (i % 5 != 0) continue;
      SCOPED_TRACE(::testing::Message() << c.name << ", d " << d << ", after " << i);
      const PaperModel paper = Reference(c, history, i + 1, d, kLambda);
      for (int u = 0; u < c.nodes; ++u) {
        const NodePosterior posterior = model->Posterior(u);
        const std::vector<double> x = rng.UnitVector(d);
        ArmScores scores;
        ScoreArms(posterior, std::vector<const double*>{x.data()}, scores);
        EXPECT_NEAR(scores.means[0], static_cast<double>(paper.Mean(u, x)), 1e-9);
        EXPECT_NEAR(scores.widths[0], static_cast<double>(paper.Width(u, x)), 1e-9);
        // Readers are shown equal posteriors.
        const auto shown = model->Show(i);
        if (shown == nullptr) continue;
        NodePosterior scratch;
        ArmScores read;
        shown->Score({.node = u}, {.features = std::vector<const double*>{x.data()}}, scratch,
                     read);
        EXPECT_NEAR(read.means[0], scores.means[0], 1e-12);
        EXPECT_NEAR(read.widths[0], scores.widths[0], 1e-12);
      }
      if (c.nodes > 1 && c.name != "goblin") continue;  // each user has a bound of its own
      const double log_det = static_cast<double>(paper.LogDet()) - prior;
      const double alpha =
          std::sqrt(std::max(0.0, log_det) + 2 * std::log(1 / 0.01)) + std::sqrt(kLambda);
      EXPECT_NEAR(model->Posterior(0).alpha, alpha, 1e-6);
    }
  }
}

// S and beta are those of plain addition and multiplication, whatever form users have.
TEST_P(FadingModelTest, SumsAreThoseOfPlainArithmeticToTheBit) {
  const int d = GetParam();
  TestRng rng(seed + 100 + d);
  for (const Case& c : Cases(d)) {
    SCOPED_TRACE(c.name);
    const auto model = ModelOf(c, d, 1);
    std::vector<NodeStatistics> plain(c.nodes, EmptyStatistics(d));
    for (const Happening& one : RandomHistory(120, d, rng)) {
      Happen(c, one, *model);
      if (one.node < 0) continue;
      NodeStatistics& node = plain[NodeIn(c, one)];
      FadeTo(one.steps, node);
      AddEvent({.features = one.x, .reward = one.reward}, node);
    }
    for (int u = 0; u < c.nodes; ++u) {
      EXPECT_EQ(model->statistics(u).gram, plain[u].gram);
      EXPECT_EQ(model->statistics(u).moment, plain[u].moment);
      EXPECT_EQ(model->statistics(u).steps, plain[u].steps);
      EXPECT_EQ(model->events(u), plain[u].events);
    }
  }
}

TEST_P(FadingModelTest, ARestartChangesNoSum) {
  const int d = GetParam();
  TestRng rng(seed + 200 + d);
  for (const Case& c : Cases(d)) {
    SCOPED_TRACE(c.name);
    const std::vector<Happening> history = RandomHistory(120, d, rng);
    const auto model = ModelOf(c, d, 1);
    auto restarted = ModelOf(c, d, 1);
    for (std::size_t i = 0; i < history.size(); ++i) {
      Happen(c, history[i], *model);
      Happen(c, history[i], *restarted);
      if (i % 17 != 5) continue;
      std::vector<NodeStatistics> kept;
      const auto frozen = restarted->Freeze();
      NodeStatistics scratch;
      for (int u = 0; u < c.nodes; ++u) {
        kept.push_back(frozen != nullptr ? frozen->Of(u, scratch) : restarted->statistics(u));
      }
      restarted = ModelOf(c, d, 1);
      restarted->FadeTo(history[i].steps);
      ASSERT_TRUE(restarted->Restore(std::move(kept)).ok());
    }
    for (int u = 0; u < c.nodes; ++u) {
      EXPECT_EQ(restarted->statistics(u).gram, model->statistics(u).gram);
      EXPECT_EQ(restarted->statistics(u).moment, model->statistics(u).moment);
      EXPECT_EQ(restarted->statistics(u).steps, model->statistics(u).steps);
      const NodePosterior a = restarted->Posterior(u);
      const NodePosterior b = model->Posterior(u);
      for (int i = 0; i < d; ++i) EXPECT_NEAR(a.mean[i], b.mean[i], 1e-9);
      for (int i = 0; i < d * d; ++i) EXPECT_NEAR(a.covariance[i], b.covariance[i], 1e-9);
    }
  }
}

TEST(FadingModel, TellsThatEveryNodeWithEventsHasChanged) {
  for (const Case& c : Cases(2)) {
    SCOPED_TRACE(c.name);
    const auto model = ModelOf(c, 2, 1);
    model->TakeChangedNodes();
    model->FadeTo(1);
    EXPECT_TRUE(model->TakeChangedNodes().empty()) << "nothing was learnt";
    Happen(c, {.steps = 1, .node = 0, .x = {1, 0}, .reward = 1}, *model);
    model->TakeChangedNodes();
    model->FadeTo(1);
    EXPECT_TRUE(model->TakeChangedNodes().empty()) << "no step";
    const double before = model->Posterior(0).mean[0];
    model->FadeTo(1 + kFadingSteps);
    const std::vector<int> changed = model->TakeChangedNodes();
    EXPECT_NE(std::find(changed.begin(), changed.end(), 0), changed.end());
    EXPECT_LT(model->Posterior(0).mean[0], before);
  }
}

TEST(FadingModel, RefusesStatisticsOfALaterStep) {
  for (const Case& c : Cases(2)) {
    const auto model = ModelOf(c, 2, 1);
    std::vector<NodeStatistics> later(c.nodes, EmptyStatistics(2));
    later[0].steps = 1;
    EXPECT_TRUE(absl::IsInvalidArgument(model->Restore(later))) << c.name;
    model->FadeTo(1);
    EXPECT_TRUE(model->Restore(later).ok()) << c.name;
  }
}

}  // namespace
}  // namespace bandana

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view kSeed = "--seed=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.substr(0, kSeed.size()) != kSeed) continue;
    bandana::seed = std::strtoull(argv[i] + kSeed.size(), nullptr, 10);
  }
  std::printf("seed %llu\n", static_cast<unsigned long long>(bandana::seed));
  return RUN_ALL_TESTS();
}

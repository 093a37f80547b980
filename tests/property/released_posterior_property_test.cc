// The posterior of noisy releases against the dense equations, on seeded random histories. Repeat
// one with `released_posterior_property_test --seed=N`.
#include <gmock/gmock.h>
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

#include "common/bandits/coupling.h"
#include "common/bandits/graph.h"
#include "common/bandits/model.h"
#include "common/bandits/statistics.h"
#include "tests/support/dense_reference.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

namespace bandana {
namespace {

using namespace bandana::testing;

std::uint64_t seed = 20261121;

constexpr int kNodes = 7;
constexpr int kDimension = 4;
constexpr double kObservation = 0.3;
constexpr double kPrior = 1.7;

struct Case {
  std::string name;
  Coupling coupling;
  LongMatrix factor;  // C, P = C C'
};

Graph Ring() {
  Graph graph;
  graph.nodes = kNodes;
  for (int u = 0; u < kNodes; ++u) {
    graph.entries.push_back({u, u, 1.0 + 0.1 * u});
    const int v = (u + 1) % kNodes;
    graph.entries.push_back({u, v, 0.5});
    graph.entries.push_back({v, u, 0.5});
  }
  return graph;
}

// Every user is influenced by the same two in the same way: P has rank one.
Graph SingularInfluence() {
  Graph graph;
  graph.kind = Graph::Kind::kInfluence;
  graph.nodes = kNodes;
  for (int u = 0; u < kNodes; ++u) {
    graph.entries.push_back({0, u, 0.25});
    graph.entries.push_back({1, u, 0.75});
  }
  return graph;
}

std::vector<Case> Cases() {
  const Graph ring = Ring();
  const Graph singular = SingularInfluence();
  std::vector<Case> cases;
  cases.push_back({"linucb", Coupling::Independent(), IdentityFactor(kNodes)});
  cases.push_back({"colin", Coupling::CoLin(ring, kDimension).value(), ColinFactor(ring)});
  cases.push_back(
      {"colin-singular", Coupling::CoLin(singular, kDimension).value(), ColinFactor(singular)});
  cases.push_back(
      {"goblin", Coupling::Goblin(ring, 0.4, kDimension).value(), GoblinFactor(ring, 0.4L)});
  return cases;
}

std::unique_ptr<BanditModel> MakeModel(const Case& c) {
  const BanditModel::Options options{.dimension = kDimension,
                                     .observation_variance = kObservation,
                                     .prior_variance = kPrior,
                                     .exploration = {.kind = ExplorationRule::Kind::kConfidence},
                                     .nodes_max = kNodes};
  auto model = BanditModel::Create(options, c.coupling).value();
  while (model->nodes() < kNodes) EXPECT_TRUE(model->AddNode().ok());
  return model;
}

// One more event of the node and a fresh release of everything so far.
NodeStatistics Step(NodeStatistics statistics, double variance, TestRng& rng) {
  const std::vector<double> x = rng.UnitVector(kDimension);
  AddEvent({0, x, rng.Normal()}, statistics);
  for (double& value : statistics.moment)
    value += 0.1 * std::sqrt(std::min(variance, 1.0)) * rng.Normal();
  statistics.moment_variance = variance;
  return statistics;
}

struct Dense {
  LongMatrix covariance;
  LongVector mean;
  long double log_det = 0;
};

// The observations beta_u ~ N(S_u theta_u, s2 S_u + v_u I) conditioned on jointly, by the equations
// of Gaussian conditioning: K = K_0 - K_0 S (S K_0 S + R)^-1 S K_0, m = K_0 S (S K_0 S + R)^-1
// beta. No H, no h and no inverse of P.
Dense Condition(const LongMatrix& factor, const BanditModel& model) {
  const int size = kNodes * kDimension;
  const LongMatrix p = factor * factor.transpose();
  LongMatrix prior = LongMatrix::Zero(size, size);
  LongMatrix gram = LongMatrix::Zero(size, size);
  LongMatrix noise = LongMatrix::Identity(size, size);
  LongVector moment = LongVector::Zero(size);
  for (int u = 0; u < kNodes; ++u) {
    for (int v = 0; v < kNodes; ++v) {
      for (int i = 0; i < kDimension; ++i)
        prior(u * kDimension + i, v * kDimension + i) = kPrior * p(u, v);
    }
    const NodeStatistics& s = model.statistics(u);
    if (s.events == 0) continue;
    for (int i = 0; i < kDimension; ++i) {
      const int row = u * kDimension + i;
      moment(row) = s.moment[i];
      for (int j = 0; j < kDimension; ++j) {
        const long double entry = s.gram[PackedIndex(std::max(i, j), std::min(i, j))];
        gram(row, u * kDimension + j) = entry;
        noise(row, u * kDimension + j) = kObservation * entry + (i == j ? s.moment_variance : 0.0);
      }
    }
  }
  const LongMatrix total = gram * prior * gram + noise;
  const Eigen::FullPivLU<LongMatrix> lu(total);
  Dense dense;
  dense.covariance = prior - prior * gram * lu.solve(LongMatrix(gram * prior));
  dense.mean = prior * gram * lu.solve(moment);
  // det(I + K_0 H) = det(S K_0 S + R) / det R, for R of full rank.
  dense.log_det = std::log(lu.determinant() / Eigen::FullPivLU<LongMatrix>(noise).determinant());
  return dense;
}

void ExpectEqualsDense(const Case& c, const BanditModel& model) {
  const Dense dense = Condition(c.factor, model);
  double difference = 0;
  double alpha = 0;
  for (int u = 0; u < kNodes; ++u) {
    const NodePosterior posterior = model.Posterior(u);
    alpha = posterior.alpha;
    for (int i = 0; i < kDimension; ++i) {
      const int row = u * kDimension + i;
      difference =
          std::max(difference, std::abs(posterior.mean[i] - static_cast<double>(dense.mean(row))));
      for (int j = 0; j < kDimension; ++j) {
        difference = std::max(
            difference, std::abs(posterior.covariance[i * kDimension + j] -
                                 static_cast<double>(dense.covariance(row, u * kDimension + j))));
      }
    }
  }
  EXPECT_LT(difference, 1e-9);
  if (c.coupling.components().size() != 1) return;  // the bound of each component is its own
  const double log_det = static_cast<double>(dense.log_det);
  EXPECT_NEAR(alpha, std::sqrt(log_det - 2 * std::log(0.01)) + 1 / std::sqrt(kPrior), 1e-8);
}

TEST(ReleasedPosterior, EqualsTheDenseEquations) {
  TestRng rng(seed);
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    const auto model = MakeModel(c);
    for (int step = 0; step < 300; ++step) {
      const int node = rng.Index(kNodes);
      // v_u moves both ways, over orders of magnitude and through 0: H_u may grow and shrink. (0
      // only where S_u has full rank: otherwise no theta explains a moment with noise in it.)
      const bool full = model->statistics(node).events >= 2 * kDimension;
      const double variance = full && step % 11 == 0 ? 0 : std::exp(8 * rng.Uniform() - 4);
      ASSERT_THAT(model->SetReleased(node, Step(model->statistics(node), variance, rng)), IsOk());
      if (step % 3 == 0) model->Refresh();
      if (step % 60 == 59) {
        model->Refresh();
        ExpectEqualsDense(c, *model);
      }
    }
    EXPECT_EQ(model->events(), 300u);
  }
}

TEST(ReleasedPosterior, RefreshOfOneNodeOrOfAllEqualsRebuild) {
  TestRng rng(seed + 1);
  for (const Case& c : Cases()) {
    for (const int changed : {1, 3, kNodes}) {
      SCOPED_TRACE(c.name + ", nodes changed " + std::to_string(changed));
      const auto model = MakeModel(c);
      for (int round = 0; round < 5; ++round) {
        for (int u = 0; u < changed; ++u)
          ASSERT_THAT(model->SetReleased(u, Step(model->statistics(u), 0.5 + round, rng)), IsOk());
        model->Refresh();
      }
      ExpectEqualsDense(c, *model);
      model->Rebuild();
      ExpectEqualsDense(c, *model);
    }
  }
}

TEST(ReleasedPosterior, WithoutNoiseEqualsEventsOneByOne) {
  TestRng rng(seed + 2);
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    const auto released = MakeModel(c);
    const auto direct = MakeModel(c);
    for (int step = 0; step < 200; ++step) {
      const int node = rng.Index(kNodes);
      const std::vector<double> x = rng.UnitVector(kDimension);
      const Event event{node, x, rng.Normal()};
      NodeStatistics next = released->statistics(node);
      AddEvent(event, next);
      ASSERT_THAT(released->SetReleased(node, next), IsOk());
      released->Refresh();
      direct->Apply({&event, 1});
    }
    for (int u = 0; u < kNodes; ++u) {
      const NodePosterior a = released->Posterior(u);
      const NodePosterior b = direct->Posterior(u);
      EXPECT_NEAR(a.alpha, b.alpha, 1e-9);
      for (int i = 0; i < kDimension; ++i) EXPECT_NEAR(a.mean[i], b.mean[i], 1e-10);
      for (int i = 0; i < kDimension * kDimension; ++i)
        EXPECT_NEAR(a.covariance[i], b.covariance[i], 1e-10);
    }
  }
}

// A randomized reward on top of a released moment: both noises are in R_u.
TEST(ReleasedPosterior, EventsOfAReleasedNodeWaitForRefresh) {
  TestRng rng(seed + 3);
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    const auto model = MakeModel(c);
    ASSERT_THAT(model->SetReleased(2, Step(model->statistics(2), 0.8, rng)), IsOk());
    model->Refresh();
    const NodePosterior before = model->Posterior(2);
    std::vector<std::vector<double>> x(2 * kDimension);
    std::vector<Event> events;
    for (int i = 0; i < 2 * kDimension; ++i) {
      x[i] = rng.UnitVector(kDimension);
      events.push_back({2 + i % 2, x[i], rng.Normal()});
    }
    model->Apply(events);
    if (c.name == "linucb") {
      EXPECT_EQ(model->Posterior(2).mean, before.mean);
    }
    model->Refresh();
    ExpectEqualsDense(c, *model);
    EXPECT_EQ(model->statistics(2).events, 1u + kDimension);
  }
}

// Releases of few nodes, then of so many that the present posterior is computed anew itself.
TEST(ReleasedPosterior, RefreshesReachAPosteriorThatIsRebuiltBeside) {
  TestRng rng(seed + 6);
  for (const Case& c : Cases()) {
    for (const int moved : {1, kNodes}) {
      SCOPED_TRACE(c.name);
      const auto model = MakeModel(c);
      const auto release = [&](int node) {
        ASSERT_THAT(model->SetReleased(node, Step(model->statistics(node), 0.8, rng)), IsOk());
      };
      for (int node = 0; node < kNodes; ++node) release(node);
      model->BeginRebuild();  // with what waits for Refresh
      for (int node = 0; node < moved; ++node) release(node);
      model->Refresh();
      model->SwapRebuilt();
      ExpectEqualsDense(c, *model);
      release(1);
      model->Refresh();
      ExpectEqualsDense(c, *model);
    }
  }
}

TEST(ReleasedPosterior, TenThousandRefreshesDriftByLessThanATrillionth) {
  TestRng rng(seed + 4);
  const Case c = Cases()[1];
  const auto model = MakeModel(c);
  for (int step = 0; step < 10'000; ++step) {
    const int node = rng.Index(kNodes);
    const double variance = 3 * (1 + std::sin(step * 1e-3));
    ASSERT_THAT(model->SetReleased(node, Step(model->statistics(node), variance, rng)), IsOk());
    model->Refresh();
  }
  std::vector<NodePosterior> updated;
  for (int u = 0; u < kNodes; ++u) updated.push_back(model->Posterior(u));
  model->Rebuild();
  for (int u = 0; u < kNodes; ++u) {
    const NodePosterior rebuilt = model->Posterior(u);
    for (int i = 0; i < kDimension; ++i) EXPECT_NEAR(updated[u].mean[i], rebuilt.mean[i], 1e-12);
    for (int i = 0; i < kDimension * kDimension; ++i)
      EXPECT_NEAR(updated[u].covariance[i], rebuilt.covariance[i], 1e-12);
  }
}

// prior_variance / observation_variance = 1e20: no digit of K_uu survives an update. The model
// notices and rebuilds.
TEST(ReleasedPosterior, LostDefinitenessIsRepaired) {
  TestRng rng(seed + 5);
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    auto model = BanditModel::Create({.dimension = kDimension,
                                      .observation_variance = 1e-10,
                                      .prior_variance = 1e10,
                                      .nodes_max = kNodes},
                                     c.coupling)
                     .value();
    while (model->nodes() < kNodes) ASSERT_TRUE(model->AddNode().ok());
    for (int step = 0; step < 100; ++step) {
      const int node = rng.Index(kNodes);
      ASSERT_THAT(model->SetReleased(node, Step(model->statistics(node), 1e-9, rng)), IsOk());
      model->Refresh();
    }
    for (int u = 0; u < kNodes; ++u) {
      const NodePosterior posterior = model->Posterior(u);
      for (int i = 0; i < kDimension; ++i) {
        EXPECT_TRUE(std::isfinite(posterior.mean[i]));
        EXPECT_GE(posterior.covariance[i * kDimension + i], 0);
        EXPECT_LE(posterior.covariance[i * kDimension + i], 1e10);
      }
    }
  }
}

TEST(ReleasedPosterior, RefusesBadReleases) {
  const auto model = MakeModel(Cases()[1]);
  NodeStatistics good = EmptyStatistics(kDimension);
  EXPECT_THAT(model->SetReleased(-1, good),
              StatusIs(absl::StatusCode::kInvalidArgument, "node must be in [0, 7)"));
  EXPECT_THAT(model->SetReleased(kNodes, good),
              StatusIs(absl::StatusCode::kInvalidArgument, "node must be in [0, 7)"));
  for (const double variance : {-1.0, std::nan(""), 1e31}) {
    NodeStatistics bad = good;
    bad.moment_variance = variance;
    EXPECT_THAT(model->SetReleased(0, bad),
                StatusIs(absl::StatusCode::kInvalidArgument, "moment_variance must be in"));
  }
  NodeStatistics nan = good;
  nan.moment[0] = std::nan("");
  EXPECT_THAT(model->SetReleased(0, nan),
              StatusIs(absl::StatusCode::kInvalidArgument, "moment must be finite"));
  EXPECT_EQ(model->events(), 0u);
}

// A restored or regraphed model forgets what awaited Refresh: the rebuild has seen it.
TEST(ReleasedPosterior, RestoreAndSetCouplingLeaveNothingWaiting) {
  TestRng rng(seed + 6);
  const std::vector<Case> cases = Cases();
  const auto model = MakeModel(cases[1]);
  ASSERT_THAT(model->SetReleased(1, Step(model->statistics(1), 2, rng)), IsOk());
  ASSERT_THAT(model->SetCoupling(cases[3].coupling), IsOk());
  ExpectEqualsDense(cases[3], *model);
  model->Refresh();
  ExpectEqualsDense(cases[3], *model);

  const auto independent = MakeModel(cases[0]);
  ASSERT_THAT(independent->SetReleased(6, Step(independent->statistics(6), 2, rng)), IsOk());
  std::vector<NodeStatistics> fewer(3, EmptyStatistics(kDimension));
  fewer[0] = Step(fewer[0], 1, rng);
  ASSERT_THAT(independent->Restore(fewer), IsOk());
  independent->Refresh();
  EXPECT_EQ(independent->nodes(), 3);
  EXPECT_EQ(independent->events(), 1u);
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

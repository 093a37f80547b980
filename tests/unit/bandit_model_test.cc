#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "common/bandits/model.h"
#include "common/base/limits.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Nodes 0 - 1 joined, 2 alone.
Graph Pair() {
  Graph graph;
  graph.nodes = 3;
  graph.entries = {{0, 1, 1}, {1, 0, 1}};
  return graph;
}

std::unique_ptr<BanditModel> Goblin() {
  return BanditModel::Create({.dimension = 2}, Coupling::Goblin(Pair(), 1, 2).value()).value();
}

void ApplyOne(BanditModel& model, int node, std::vector<double> x, double reward) {
  const Event event = {node, x, reward};
  model.Apply({&event, 1});
}

TEST(BanditModel, SharedModelIsRidgeRegression) {
  // s2 = 0.5, tau^2 = 2, x = 3, r = 1: K = 1 / (1/2 + 9/0.5) = 2/37, m = K * 3 / 0.5.
  auto model = BanditModel::Create(
      {.dimension = 1, .observation_variance = 0.5, .prior_variance = 2}, Coupling::Shared());
  ASSERT_THAT(model, IsOk());
  ApplyOne(**model, 0, {3}, 1);
  const NodePosterior posterior = (*model)->Posterior(0);
  EXPECT_NEAR(posterior.covariance[0], 2.0 / 37, 1e-15);
  EXPECT_NEAR(posterior.mean[0], 12.0 / 37, 1e-15);
  EXPECT_THAT((*model)->statistics(0).gram, ElementsAre(9));
  EXPECT_THAT((*model)->statistics(0).moment, ElementsAre(3));
  EXPECT_EQ((*model)->statistics(0).events, 1);
  EXPECT_EQ((*model)->events(), 1);
}

TEST(BanditModel, CovarianceIsSymmetricAndPackedStatisticsAreRows) {
  auto model = BanditModel::Create({.dimension = 3}, Coupling::Shared()).value();
  ApplyOne(*model, 0, {1, 2, 3}, 0.5);
  EXPECT_THAT(model->statistics(0).gram, ElementsAre(1, 2, 4, 3, 6, 9));
  EXPECT_THAT(model->statistics(0).moment, ElementsAre(0.5, 1, 1.5));
  const NodePosterior posterior = model->Posterior(0);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      // Sherman-Morrison: I - x x' / (1 + |x|^2).
      EXPECT_NEAR(posterior.covariance[i * 3 + j], (i == j) - (i + 1) * (j + 1) / 15.0, 1e-15);
      EXPECT_EQ(posterior.covariance[i * 3 + j], posterior.covariance[j * 3 + i]);
    }
  }
}

TEST(BanditModel, CreateNamesTheBadOption) {
  const auto create = [](BanditModel::Options options) {
    return BanditModel::Create(options, Coupling::Shared()).status();
  };
  const auto explore = [&](ExplorationRule rule) {
    return create({.dimension = 2, .exploration = rule});
  };
  using Kind = ExplorationRule::Kind;
  EXPECT_THAT(create({.dimension = 0}), StatusIs(kInvalid, "dimension must be in [1, 256], got 0"));
  EXPECT_THAT(create({.dimension = 257}), StatusIs(kInvalid, "dimension must be in"));
  for (double bad : {0.0, -1.0, kNan, kInfinity}) {
    EXPECT_THAT(create({.dimension = 2, .observation_variance = bad}),
                StatusIs(kInvalid, "observation_variance must be"));
    EXPECT_THAT(create({.dimension = 2, .prior_variance = bad}),
                StatusIs(kInvalid, "prior_variance must be"));
    EXPECT_THAT(explore({.kind = Kind::kConfidence, .theta_l2_max = bad}),
                StatusIs(kInvalid, "exploration.theta_l2_max"));
  }
  for (double bad : {-0.1, kNan, 1e7}) {
    EXPECT_THAT(explore({.kind = Kind::kConstant, .alpha = bad}),
                StatusIs(kInvalid, "exploration.alpha must be"));
    EXPECT_THAT(explore({.kind = Kind::kLog, .alpha = bad}),
                StatusIs(kInvalid, "exploration.alpha must be"));
  }
  for (double bad : {0.0, 1.0, kNan}) {
    EXPECT_THAT(explore({.kind = Kind::kConfidence, .failure_probability = bad}),
                StatusIs(kInvalid, "exploration.failure_probability must be in (0, 1)"));
  }
  for (int bad : {0, -1, kIndependentNodesMax + 1}) {
    EXPECT_THAT(
        BanditModel::Create({.dimension = 2, .nodes_max = bad}, Coupling::Independent()).status(),
        StatusIs(kInvalid, "nodes_max must be in"));
  }
}

TEST(BanditModel, CreateRefusesACouplingMadeForASmallerDimension) {
  Graph ring;
  ring.nodes = 300;
  for (int u = 0; u < 300; ++u) {
    ring.entries.push_back({u, (u + 1) % 300, 1});
    ring.entries.push_back({(u + 1) % 300, u, 1});
  }
  EXPECT_THAT(BanditModel::Create({.dimension = 28}, Coupling::Goblin(ring, 1, 2).value()).status(),
              StatusIs(kInvalid, "coupling: a component of 300 nodes at dimension 28"));
}

TEST(BanditModel, IndependentNodesAreAddedUpToTheLimit) {
  auto model =
      BanditModel::Create({.dimension = 2, .nodes_max = 2}, Coupling::Independent()).value();
  EXPECT_EQ(model->nodes(), 0);
  EXPECT_THAT(model->AddNode(), IsOkAndHolds(0));
  EXPECT_THAT(model->AddNode(), IsOkAndHolds(1));
  EXPECT_THAT(model->AddNode(),
              StatusIs(absl::StatusCode::kResourceExhausted, "maximum of 2 users"));
  EXPECT_EQ(model->nodes(), 2);
  EXPECT_THAT(Goblin()->AddNode(), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(BanditModel, IndependentNodesDoNotTouchEachOther) {
  auto model =
      BanditModel::Create({.dimension = 2, .nodes_max = 2}, Coupling::Independent()).value();
  ASSERT_THAT(model->AddNode(), IsOk());
  ASSERT_THAT(model->AddNode(), IsOk());
  EXPECT_THAT(model->TakeChangedNodes(), IsEmpty());
  ApplyOne(*model, 1, {1, 0}, 1);
  EXPECT_THAT(model->TakeChangedNodes(), ElementsAre(1));
  EXPECT_EQ(model->Posterior(0).mean, model->Prior().mean);
  EXPECT_EQ(model->Posterior(0).covariance, model->Prior().covariance);
  EXPECT_NEAR(model->Posterior(1).mean[0], 0.5, 1e-15);
}

TEST(BanditModel, ChangedNodesAreThoseOfTheComponent) {
  auto model = Goblin();
  EXPECT_THAT(model->TakeChangedNodes(), ElementsAre(0, 1, 2));  // priors differ from node to node
  EXPECT_THAT(model->TakeChangedNodes(), IsEmpty());
  ApplyOne(*model, 1, {1, 0}, 1);
  ApplyOne(*model, 0, {1, 0}, 1);
  EXPECT_THAT(model->TakeChangedNodes(), ElementsAre(0, 1));
  ApplyOne(*model, 2, {1, 0}, 1);
  EXPECT_THAT(model->TakeChangedNodes(), ElementsAre(2));
  model->Rebuild();
  EXPECT_THAT(model->TakeChangedNodes(), ElementsAre(0, 1, 2));
}

TEST(BanditModel, FriendsShareAndStrangersDoNot) {
  auto model = Goblin();
  // G = [2 -1; -1 2]: P_00 = 2/3, P_01 = 1/3. One event of node 0 along x = (1, 0) with r = 1: q =
  // 1 + 2/3.
  ApplyOne(*model, 0, {1, 0}, 1);
  EXPECT_NEAR(model->Posterior(0).mean[0], 2.0 / 5, 1e-15);
  EXPECT_NEAR(model->Posterior(1).mean[0], 1.0 / 5, 1e-15);
  EXPECT_NEAR(model->Posterior(1).covariance[0], 2.0 / 3 - 1.0 / 15, 1e-15);
  EXPECT_NEAR(model->Posterior(1).covariance[3], 2.0 / 3, 1e-15);
  EXPECT_EQ(model->Posterior(2).mean[0], 0);
  EXPECT_EQ(model->Posterior(2).covariance[0], 1);
}

TEST(BanditModel, ExplorationRules) {
  using Kind = ExplorationRule::Kind;
  const auto alpha_after = [](ExplorationRule rule, int events) {
    auto model =
        BanditModel::Create(
            {.dimension = 1, .observation_variance = 2, .prior_variance = 4, .exploration = rule},
            Coupling::Shared())
            .value();
    EXPECT_EQ(model->Posterior(0).alpha, model->Prior().alpha);
    for (int i = 0; i < events; ++i) ApplyOne(*model, 0, {1}, 0);
    return model->Posterior(0).alpha;
  };
  EXPECT_EQ(alpha_after({.kind = Kind::kConstant, .alpha = 0.7}, 3), 0.7);
  EXPECT_DOUBLE_EQ(alpha_after({.kind = Kind::kLog, .alpha = 0.1}, 3),
                   0.1 * std::sqrt(std::log(5)));
  // det A_t / det A_0 = 1 + 3 * 4 / 2 = 7; theta_l2_max / prior_stddev = 6 / 2.
  const ExplorationRule bound = {
      .kind = Kind::kConfidence, .failure_probability = 0.05, .theta_l2_max = 6};
  EXPECT_NEAR(alpha_after(bound, 3), std::sqrt(std::log(7) + 2 * std::log(20)) + 3, 1e-14);
}

TEST(BanditModel, RestoreContinuesWhereTheStatisticsEnd) {
  auto model = Goblin();
  ApplyOne(*model, 0, {1, 2}, 1);
  ApplyOne(*model, 2, {3, 1}, -1);
  auto restored = Goblin();
  EXPECT_THAT(restored->Restore({model->statistics(0), model->statistics(1), model->statistics(2)}),
              IsOk());
  EXPECT_EQ(restored->events(), 2);
  ApplyOne(*model, 1, {1, 1}, 2);
  ApplyOne(*restored, 1, {1, 1}, 2);
  for (int u = 0; u < 3; ++u) {
    for (int i = 0; i < 2; ++i)
      EXPECT_NEAR(restored->Posterior(u).mean[i], model->Posterior(u).mean[i], 1e-15);
    for (int i = 0; i < 4; ++i) {
      EXPECT_NEAR(restored->Posterior(u).covariance[i], model->Posterior(u).covariance[i], 1e-15);
    }
  }
}

TEST(BanditModel, RestoreOfIndependentUsersSetsTheirNumber) {
  auto model =
      BanditModel::Create({.dimension = 1, .nodes_max = 3}, Coupling::Independent()).value();
  const NodeStatistics one = {{1}, {2}, 1};
  EXPECT_THAT(model->Restore({one, {{0}, {0}, 0}}), IsOk());
  EXPECT_EQ(model->nodes(), 2);
  EXPECT_NEAR(model->Posterior(0).mean[0], 1, 1e-15);
  EXPECT_THAT(model->TakeChangedNodes(), ElementsAre(0, 1));
  EXPECT_THAT(model->Restore({one, one, one, one}), StatusIs(kInvalid, "statistics of 4 users"));
  EXPECT_EQ(model->nodes(), 2);
}

TEST(BanditModel, RestoreRefusesBadStatisticsAndKeepsTheState) {
  auto model = BanditModel::Create({.dimension = 2}, Coupling::Shared()).value();
  ApplyOne(*model, 0, {1, 1}, 1);
  const NodePosterior before = model->Posterior(0);
  const auto restore = [&](std::vector<double> gram, std::vector<double> moment) {
    return model->Restore({{std::move(gram), std::move(moment), 5}});
  };
  EXPECT_THAT(model->Restore({}), StatusIs(kInvalid, "statistics of 0 nodes, the model has 1"));
  EXPECT_THAT(restore({1, 0}, {0, 0}),
              StatusIs(kInvalid, "statistics of node 0: gram must have 3 entries"));
  EXPECT_THAT(restore({1, 0, 1}, {0}), StatusIs(kInvalid, "moment must have 2 entries"));
  EXPECT_THAT(restore({1, kNan, 1}, {0, 0}), StatusIs(kInvalid, "gram must be finite"));
  EXPECT_THAT(restore({1, 0, 1e101}, {0, 0}), StatusIs(kInvalid, "gram must be finite"));
  EXPECT_THAT(restore({1, 0, 1}, {0, kInfinity}), StatusIs(kInvalid, "moment must be finite"));
  EXPECT_THAT(restore({-1, 0, 1}, {0, 0}), StatusIs(kInvalid, "diagonal >= 0"));
  EXPECT_THAT(restore({1, 2, 1}, {0, 0}), StatusIs(kInvalid, "positive semidefinite"));
  EXPECT_EQ(model->Posterior(0).mean, before.mean);
  EXPECT_EQ(model->Posterior(0).covariance, before.covariance);
  EXPECT_EQ(model->events(), 1);
}

TEST(BanditModel, SetCouplingKeepsTheStatistics) {
  auto model = Goblin();
  ApplyOne(*model, 0, {1, 0}, 1);
  (void)model->TakeChangedNodes();
  Graph apart;
  apart.nodes = 3;
  EXPECT_THAT(model->SetCoupling(Coupling::Goblin(apart, 1, 2).value()), IsOk());
  EXPECT_THAT(model->TakeChangedNodes(), ElementsAre(0, 1, 2));
  EXPECT_EQ(model->events(), 1);
  EXPECT_NEAR(model->Posterior(0).mean[0], 0.5, 1e-15);
  EXPECT_EQ(model->Posterior(1).mean[0], 0);

  EXPECT_THAT(model->SetCoupling(Coupling::Shared()),
              StatusIs(kInvalid, "must have 3 nodes, got 1"));
  EXPECT_THAT(model->SetCoupling(Coupling::Independent()), StatusIs(kInvalid, "no graph"));
}

TEST(BanditModelDeathTest, ApplyChecksNodeAndSize) {
  auto model = Goblin();
  EXPECT_DEATH(ApplyOne(*model, 3, {1, 0}, 0), "check failed");
  EXPECT_DEATH(ApplyOne(*model, -1, {1, 0}, 0), "check failed");
  EXPECT_DEATH(ApplyOne(*model, 0, {1}, 0), "check failed");
}

}  // namespace
}  // namespace bandana::testing

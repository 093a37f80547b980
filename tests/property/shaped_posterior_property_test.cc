// The posterior of shaped releases against Gaussian conditioning in dense matrices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/bandits/noise_shape.h"
#include "common/bandits/shaped.h"
#include "common/bandits/statistics.h"
#include "tests/support/dense_reference.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

constexpr int kNodes = 5;
constexpr int kDimension = 3;
constexpr int kRows = kNodes * kDimension;

// P = G G' / columns: rank min(columns, n).
CouplingComponent RandomComponent(int columns, TestRng& rng) {
  Eigen::MatrixXd g(kNodes, columns);
  for (int i = 0; i < g.size(); ++i) g.data()[i] = rng.Normal() + 0.5;
  const Eigen::MatrixXd p = g * g.transpose() / columns;
  CouplingComponent component;
  for (int u = 0; u < kNodes; ++u) component.nodes.push_back(u);
  component.prior.assign(p.data(), p.data() + p.size());
  return component;
}

std::vector<NodeStatistics> RandomStatistics(TestRng& rng) {
  std::vector<NodeStatistics> statistics(kNodes, EmptyStatistics(kDimension));
  for (int i = 0; i < 60; ++i) {  // node 0 sees nothing
    const std::vector<double> x = rng.UnitVector(kDimension);
    AddEvent({0, x, 0}, statistics[1 + rng.Index(kNodes - 1)]);
  }
  return statistics;
}

ShapedRelease RandomRelease(const NoiseShape& shape, TestRng& rng) {
  ShapedRelease release{shape.root, std::vector<double>(kRows), std::exp(4 * rng.Uniform() - 2)};
  for (double& value : release.values) value = 3 * rng.Normal();
  return release;
}

// A (x) I.
LongMatrix Kronecker(const std::vector<double>& a, double scale) {
  LongMatrix out = LongMatrix::Zero(kRows, kRows);
  for (int u = 0; u < kNodes; ++u) {
    for (int v = 0; v < kNodes; ++v) {
      for (int i = 0; i < kDimension; ++i)
        out(u * kDimension + i, v * kDimension + i) = scale * a[u * kNodes + v];
    }
  }
  return out;
}

void ExpectEqualsDense(const CouplingComponent& component, const BanditModel::Options& options,
                       const std::vector<NodeStatistics>& statistics,
                       const ShapedRelease& release) {
  const auto posteriors = ShapedPosterior(component, options, statistics, release);
  ASSERT_THAT(posteriors, IsOk());
  LongMatrix gram = LongMatrix::Zero(kRows, kRows);
  for (int u = 0; u < kNodes; ++u) {
    for (int i = 0; i < kDimension; ++i) {
      for (int j = 0; j < kDimension; ++j) {
        gram(u * kDimension + i, u * kDimension + j) =
            statistics[u].gram[PackedIndex(std::max(i, j), std::min(i, j))];
      }
    }
  }
  const LongMatrix prior = Kronecker(component.prior, options.prior_variance);
  const LongMatrix root = Kronecker(release.root, 1);
  const LongMatrix seen = root * gram;
  const LongMatrix total =
      seen * prior * seen.transpose() +
      options.observation_variance * root * gram * root.transpose() +
      static_cast<long double>(release.variance) * LongMatrix::Identity(kRows, kRows);
  const LongMatrix gain = prior * seen.transpose() * total.inverse();
  const LongMatrix covariance = prior - gain * seen * prior;
  LongVector values(kRows);
  for (int i = 0; i < kRows; ++i) values(i) = release.values[i];
  const LongVector mean = gain * values;
  for (int u = 0; u < kNodes; ++u) {
    const NodePosterior& posterior = (*posteriors)[u];
    for (int i = 0; i < kDimension; ++i) {
      const int row = u * kDimension + i;
      EXPECT_NEAR(posterior.mean[i], static_cast<double>(mean(row)), 1e-9);
      for (int j = 0; j < kDimension; ++j) {
        EXPECT_NEAR(posterior.covariance[i * kDimension + j],
                    static_cast<double>(covariance(row, u * kDimension + j)), 1e-9);
      }
    }
  }
}

constexpr BanditModel::Options kOptions{
    .dimension = kDimension, .observation_variance = 0.2, .prior_variance = 1.3};

TEST(ShapedPosterior, EqualsTheDenseEquationsForPOfAnyRank) {
  TestRng rng(20261121);
  for (const int columns : {1, 2, 8}) {
    for (int trial = 0; trial < 20; ++trial) {
      const CouplingComponent component = RandomComponent(columns, rng);
      const auto shape = ShapeNoise(component.prior, kNodes);
      ASSERT_THAT(shape, IsOk());
      ExpectEqualsDense(component, kOptions, RandomStatistics(rng), RandomRelease(*shape, rng));
    }
  }
}

// Q = I is a counter a user: the model of released moments says the same.
TEST(ShapedPosterior, WithoutShapeEqualsReleasedMoments) {
  TestRng rng(7);
  Graph ring;
  ring.nodes = kNodes;
  for (int u = 0; u < kNodes; ++u) {
    const int v = (u + 1) % kNodes;
    ring.entries.push_back({u, v, 0.5});
    ring.entries.push_back({v, u, 0.5});
  }
  const Coupling coupling = Coupling::Goblin(ring, 1, kDimension).value();
  ShapedRelease release{std::vector<double>(kNodes * kNodes, 0.0), std::vector<double>(kRows), 0.7};
  for (int u = 0; u < kNodes; ++u) release.root[u * kNodes + u] = 1;
  for (double& value : release.values) value = rng.Normal();
  std::vector<NodeStatistics> statistics = RandomStatistics(rng);
  const auto shaped =
      ShapedPosterior(coupling.components()[0], kOptions, statistics, release).value();
  const auto model = BanditModel::Create(kOptions, coupling).value();
  for (int u = 0; u < kNodes; ++u) {
    for (int i = 0; i < kDimension; ++i)
      statistics[u].moment[i] = release.values[u * kDimension + i];
    statistics[u].moment_variance = release.variance;
    ASSERT_THAT(model->SetReleased(u, statistics[u]), IsOk());
  }
  model->Refresh();
  for (int u = 0; u < kNodes; ++u) {
    const NodePosterior expected = model->Posterior(u);
    for (int i = 0; i < kDimension; ++i) EXPECT_NEAR(shaped[u].mean[i], expected.mean[i], 1e-12);
    for (int i = 0; i < kDimension * kDimension; ++i)
      EXPECT_NEAR(shaped[u].covariance[i], expected.covariance[i], 1e-12);
  }
}

TEST(ShapedPosterior, RefusesBadReleases) {
  TestRng rng(1);
  const CouplingComponent component = RandomComponent(3, rng);
  const std::vector<NodeStatistics> statistics = RandomStatistics(rng);
  const ShapedRelease good = RandomRelease(ShapeNoise(component.prior, kNodes).value(), rng);
  const auto refused = [&](const ShapedRelease& release, const char* message) {
    EXPECT_THAT(ShapedPosterior(component, kOptions, statistics, release),
                StatusIs(absl::StatusCode::kInvalidArgument, message));
  };
  for (const double variance : {0.0, -1.0, std::nan(""), 1e31}) {
    ShapedRelease bad = good;
    bad.variance = variance;
    refused(bad, "variance must be in");
  }
  ShapedRelease bad = good;
  bad.values.pop_back();
  refused(bad, "values, got");
  bad = good;
  bad.root[3] = std::numeric_limits<double>::infinity();
  refused(bad, "must be finite");
  EXPECT_THAT(ShapedPosterior(component, kOptions, std::span(statistics).first(2), good),
              StatusIs(absl::StatusCode::kInvalidArgument, "statistics must be of 5 nodes"));
}

double ErrorOf(const std::vector<double>& p, const Eigen::MatrixXd& q) {
  const Eigen::Map<const Eigen::MatrixXd> prior(p.data(), kNodes, kNodes);
  return (prior * q.inverse()).trace();
}

TEST(NoiseShape, NoOtherShapeWithinTheSensitivityIsBetter) {
  TestRng rng(3);
  for (int trial = 0; trial < 10; ++trial) {
    const CouplingComponent component = RandomComponent(8, rng);
    const NoiseShape shape = ShapeNoise(component.prior, kNodes).value();
    const Eigen::Map<const Eigen::MatrixXd> q(shape.q.data(), kNodes, kNodes);
    EXPECT_LE(q.diagonal().maxCoeff(), 1);
    EXPECT_GE(q.diagonal().minCoeff(), 1 - 1e-8);
    EXPECT_NEAR(shape.error, ErrorOf(component.prior, q), 1e-3 * shape.error);
    EXPECT_LT(shape.error, ErrorOf(component.prior, Eigen::MatrixXd::Identity(kNodes, kNodes)));
    for (int other = 0; other < 50; ++other) {
      Eigen::MatrixXd step(kNodes, kNodes);
      for (int i = 0; i < step.size(); ++i) step.data()[i] = 0.03 * rng.Normal();
      Eigen::MatrixXd near = q + step + step.transpose();
      near.diagonal() = q.diagonal();
      if (near.llt().info() != Eigen::Success) continue;
      EXPECT_GE(ErrorOf(component.prior, near), shape.error * (1 - 1e-3));
    }
    const Eigen::Map<const Eigen::MatrixXd> root(shape.root.data(), kNodes, kNodes);
    EXPECT_LT((root * root - q).cwiseAbs().maxCoeff(), 1e-12);
  }
}

TEST(NoiseShape, KnownShapes) {
  // Users who are one: one counter for all.
  const NoiseShape one = ShapeNoise(std::vector<double>(16, 0.5), 4).value();
  for (const double entry : one.q) EXPECT_NEAR(entry, 1, 1e-2);
  EXPECT_NEAR(one.error, 0.5, 1e-2);
  // Users who have nothing in common: a counter a user.
  const NoiseShape apart = ShapeNoise({2, 0, 0, 1}, 2).value();
  EXPECT_NEAR(apart.q[0], 1, 1e-9);
  EXPECT_NEAR(apart.q[1], 0, 1e-9);
  EXPECT_NEAR(apart.error, 3, 1e-4);
  EXPECT_THAT(ShapeNoise({1, 0, 0, 0}, 2),
              StatusIs(absl::StatusCode::kInvalidArgument, "diagonal > 0"));
  EXPECT_THAT(ShapeNoise({1, 0}, 2), StatusIs(absl::StatusCode::kInvalidArgument, "2 x 2"));
  EXPECT_THAT(ShapeNoise({}, 0), StatusIs(absl::StatusCode::kInvalidArgument, "nodes must be"));
}

}  // namespace
}  // namespace bandana::testing

#include "common/bandits/noise_shape.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "common/base/status.h"

namespace bandana {
namespace {

constexpr int kNoiseNodesMax = 512;
constexpr int kStepsMax = 1'000;
constexpr double kTolerance = 1e-9;
constexpr double kOwnVariance = 1e-6;     // added to P, in units of its mean diagonal
constexpr double kMultiplierMin = 1e-10;  // of D, relative to its largest

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

Matrix Root(const Matrix& a) {
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(a);
  const Vector roots = solver.eigenvalues().cwiseMax(0).cwiseSqrt();
  return solver.eigenvectors() * roots.asDiagonal() * solver.eigenvectors().transpose();
}

}  // namespace

absl::StatusOr<NoiseShape> ShapeNoise(const std::vector<double>& p, int n) {
  if (n < 1 || n > kNoiseNodesMax)
    return InvalidArgument("nodes must be in [1, ", kNoiseNodesMax, "], got ", n);
  if (p.size() != static_cast<std::size_t>(n) * n)
    return InvalidArgument("P must have ", n, " x ", n, " entries, got ", p.size());
  Matrix prior = Eigen::Map<const Matrix>(p.data(), n, n);
  if (!prior.allFinite() || !(prior.diagonal().minCoeff() > 0))
    return InvalidArgument("P must be finite with a diagonal > 0");
  prior.diagonal().array() += kOwnVariance * prior.trace() / n;

  Vector d = Vector::Constant(n, prior.trace() / n);
  Matrix q;
  double gap = 1;
  for (int step = 0; step < kStepsMax && gap > kTolerance; ++step) {
    const Vector root = d.cwiseSqrt();
    const Vector inverse = root.cwiseInverse();
    q = inverse.asDiagonal() * Root(root.asDiagonal() * prior * root.asDiagonal()) *
        inverse.asDiagonal();
    gap = (q.diagonal().array() - 1).abs().maxCoeff();
    d = d.cwiseProduct(q.diagonal());
    d = d.cwiseMax(kMultiplierMin * d.maxCoeff());
  }
  q /= q.diagonal().maxCoeff();

  NoiseShape shape;
  shape.error = q.llt().solve(prior).trace();
  const Matrix root = Root(q);
  shape.q.assign(q.data(), q.data() + q.size());
  shape.root.assign(root.data(), root.data() + root.size());
  return shape;
}

}  // namespace bandana

#include "research/lab/fliphat/n_iht.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana::lab {
namespace {

constexpr double kStepsPerLog = 0.16;
constexpr double kStepSize = 1e-4;  // times n

// 2 X'(X theta - y); rows beyond the support of theta cost nothing while theta is 0.
std::vector<double> Gradient(const SparseRows& rows, std::span<const double> theta,
                             double reward_abs_max) {
  const auto d = static_cast<std::size_t>(rows.dimension);
  std::vector<std::size_t> support;
  for (std::size_t j = 0; j < d; ++j) {
    if (theta[j] != 0) support.push_back(j);
  }
  std::vector<double> gradient(d, 0);
  for (std::size_t i = 0; i < rows.rewards.size(); ++i) {
    const auto x = std::span(rows.features).subspan(i * d, d);
    double error = -std::clamp(rows.rewards[i], -reward_abs_max, reward_abs_max);
    for (const std::size_t j : support) error += theta[j] * x[j];
    for (std::size_t j = 0; j < d; ++j) gradient[j] += 2 * error * x[j];
  }
  return gradient;
}

}  // namespace

double PeelScale(double lambda, int sparsity, Epsilon epsilon, Delta delta) {
  return lambda * 2 * std::sqrt(3 * sparsity * std::log(1 / delta.value)) / epsilon.value;
}

absl::Status Peel(std::span<double> v, int sparsity, double scale, RealSampler& sampler) {
  if (sparsity < 1 || static_cast<std::size_t>(sparsity) > v.size()) {
    return InvalidArgument("sparsity must be in [1, ", v.size(), "], got ", sparsity);
  }
  if (!(scale > 0 && std::isfinite(scale))) {
    return InvalidArgument("scale must be positive, got ", scale);
  }
  std::vector<char> kept(v.size(), 0);
  for (int pick = 0; pick < sparsity; ++pick) {
    std::size_t best = v.size();
    double best_score = 0;
    for (std::size_t j = 0; j < v.size(); ++j) {
      if (kept[j] != 0) continue;
      BANDANA_ASSIGN_OR_RETURN(const double noise, sampler.Laplace());
      const double score = std::abs(v[j]) + scale * noise;
      if (best == v.size() || score > best_score) {
        best = j;
        best_score = score;
      }
    }
    kept[best] = 1;
  }
  for (std::size_t j = 0; j < v.size(); ++j) {
    if (kept[j] == 0) {
      v[j] = 0;
      continue;
    }
    BANDANA_ASSIGN_OR_RETURN(const double noise, sampler.Laplace());
    v[j] += scale * noise;
  }
  return absl::OkStatus();
}

void ProjectOnL1Ball(std::span<double> v, double radius) {
  BANDANA_CHECK(radius > 0);
  std::vector<double> sizes(v.size());
  double sum = 0;
  for (std::size_t j = 0; j < v.size(); ++j) sum += sizes[j] = std::abs(v[j]);
  if (sum <= radius) return;
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  double prefix = 0, threshold = 0;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    prefix += sizes[k];
    const double candidate = (prefix - radius) / static_cast<double>(k + 1);
    if (sizes[k] <= candidate) break;
    threshold = candidate;
  }
  for (double& value : v) {
    value = std::copysign(std::max(0.0, std::abs(value) - threshold), value);
  }
}

absl::StatusOr<std::vector<double>> NoisyIht(const SparseRows& rows, const NoisyIhtOptions& options,
                                             RealSampler& sampler) {
  if (!(options.epsilon.value > 0) || !(options.delta.value > 0 && options.delta.value < 1)) {
    return InvalidArgument("epsilon must be positive and delta in (0, 1), got ",
                           options.epsilon.value, " and ", options.delta.value);
  }
  if (!(options.parameter_l1 > 0 && options.lambda_factor > 0)) {
    return InvalidArgument("parameter_l1 and lambda_factor must be positive, got ",
                           options.parameter_l1, " and ", options.lambda_factor);
  }
  if (rows.dimension < 1 || options.sparsity < 1 || options.sparsity > rows.dimension) {
    return InvalidArgument("sparsity must be in [1, ", rows.dimension, "], got ", options.sparsity);
  }
  const auto n = static_cast<double>(rows.rewards.size());
  const double b_max = options.parameter_l1;
  std::vector<double> theta(rows.dimension, 0);
  const int steps = static_cast<int>(kStepsPerLog * std::log1p(n * b_max * b_max));
  if (steps == 0) return theta;
  const double x_max = std::sqrt(2 * std::log(std::max(2, rows.dimension)));
  const double reward_max = x_max * b_max + std::sqrt(2 * std::log1p(n));
  const double eta = kStepSize / n;
  const double lambda = options.lambda_factor * eta * (reward_max + x_max * b_max);
  const double scale = PeelScale(lambda, options.sparsity, {options.epsilon.value / steps},
                                 {options.delta.value / steps});
  for (int step = 0; step < steps; ++step) {
    const std::vector<double> gradient = Gradient(rows, theta, reward_max);
    for (std::size_t j = 0; j < theta.size(); ++j) theta[j] -= eta * gradient[j];
    BANDANA_RETURN_IF_ERROR(Peel(theta, options.sparsity, scale, sampler));
    ProjectOnL1Ball(theta, b_max);
  }
  return theta;
}

}  // namespace bandana::lab

#include "common/mechanisms/counters/blt.h"

#include <cmath>
#include <cstddef>

#include "common/base/check.h"

namespace bandana {
namespace {

// 1 - (theta_a theta_b)^k.
double OneMinusPower(double a, double b, double k) {
  return std::isinf(k) ? 1 : -std::expm1(k * (std::log1p(-a) + std::log1p(-b)));
}

// 1 - theta_a theta_b.
double OneMinusProduct(double a, double b) { return a + b - a * b; }

double AsReal(std::uint64_t steps) {
  return steps == kUnboundedSteps ? std::numeric_limits<double>::infinity()
                                  : static_cast<double>(steps);
}

}  // namespace

std::vector<double> BltWeights(std::span<const double> decay,
                               std::span<const double> inverse_decay) {
  BANDANA_CHECK(!decay.empty() && decay.size() == inverse_decay.size());
  std::vector<double> weights(decay.size());
  for (std::size_t i = 0; i < decay.size(); ++i) {
    // Factor by factor: the two products alone may leave the range of double.
    double weight = inverse_decay[i] - decay[i];
    for (std::size_t j = 0; j < decay.size(); ++j) {
      if (j != i) weight *= (inverse_decay[j] - decay[i]) / (decay[j] - decay[i]);
    }
    weights[i] = weight;
  }
  return weights;
}

double BltSquaredSensitivity(std::span<const double> decay, std::span<const double> weight,
                             std::uint64_t steps) {
  BANDANA_CHECK(steps >= 1 && decay.size() == weight.size());
  const double powers = steps == kUnboundedSteps ? AsReal(steps) : AsReal(steps - 1);
  double sum = 1;
  for (std::size_t i = 0; i < decay.size(); ++i) {
    for (std::size_t j = 0; j < decay.size(); ++j) {
      sum += weight[i] * weight[j] * OneMinusPower(decay[i], decay[j], powers) /
             OneMinusProduct(decay[i], decay[j]);
    }
  }
  return sum;
}

double BltSquaredRow(const Blt& blt, std::uint64_t t) {
  BANDANA_CHECK(t >= 1 && t != kUnboundedSteps);
  const std::size_t buffers = blt.inverse_decay.size();
  std::vector<double> g(buffers);
  double limit = 1;
  for (std::size_t i = 0; i < buffers; ++i) {
    limit *= blt.decay[i] / blt.inverse_decay[i];
    g[i] = -blt.inverse_weight[i] / blt.inverse_decay[i];
  }
  const double steps = AsReal(t);
  double sum = steps * limit * limit;
  for (std::size_t i = 0; i < buffers; ++i) {
    const double h = blt.inverse_decay[i];
    sum += 2 * limit * g[i] * OneMinusPower(h, 0, steps) / h;
    for (std::size_t j = 0; j < buffers; ++j) {
      sum += g[i] * g[j] * OneMinusPower(h, blt.inverse_decay[j], steps) /
             OneMinusProduct(h, blt.inverse_decay[j]);
    }
  }
  return sum;
}

}  // namespace bandana

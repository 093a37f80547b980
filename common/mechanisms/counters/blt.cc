#include "common/mechanisms/counters/blt.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "common/base/check.h"

namespace bandana {
namespace {

// theta^k from 1 - theta; theta^0 = 1, theta^inf = 0.
double Power(double decay, double k) {
  return std::isinf(k) ? 0 : std::exp(k * std::log1p(-decay));
}

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

Blt MakeBlt(std::vector<double> decay, std::vector<double> inverse_decay) {
  Blt blt;
  blt.weight = BltWeights(decay, inverse_decay);
  blt.inverse_weight = BltWeights(inverse_decay, decay);
  blt.decay = std::move(decay);
  blt.inverse_decay = std::move(inverse_decay);
  return blt;
}

double BltEncoderCoefficient(const Blt& blt, std::uint64_t k) {
  if (k == 0) return 1;
  double sum = 0;
  for (std::size_t i = 0; i < blt.decay.size(); ++i) {
    sum += blt.weight[i] * Power(blt.decay[i], AsReal(k - 1));
  }
  return sum;
}

// In the form b_inf + sum_i G_i theta'_i^k, G_i = -w'_i / (1 - theta'_i) > 0, b_inf = prod (1 -
// theta_i) / (1 - theta'_i) = 1 - sum_i G_i: the form of the header cancels for large k.
double BltDecoderCoefficient(const Blt& blt, std::uint64_t k) {
  double limit = 1;
  double sum = 0;
  for (std::size_t i = 0; i < blt.inverse_decay.size(); ++i) {
    limit *= blt.decay[i] / blt.inverse_decay[i];
    sum += -blt.inverse_weight[i] / blt.inverse_decay[i] * Power(blt.inverse_decay[i], AsReal(k));
  }
  return limit + sum;
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

double BltUserSquaredSensitivity(std::span<const double> decay, std::span<const double> weight,
                                 std::uint64_t participations, std::uint64_t separation) {
  BANDANA_CHECK(participations >= 1 && separation >= 1 && decay.size() == weight.size());
  const std::size_t buffers = decay.size();
  const double k = AsReal(participations);
  const double b = AsReal(separation);
  double sum = k * BltSquaredSensitivity(decay, weight, kUnboundedSteps);
  for (std::size_t i = 0; i < buffers; ++i) {
    double tail = weight[i];  // the factor of theta_i^(m-1) in G(m)
    for (std::size_t l = 0; l < buffers; ++l) {
      tail += weight[i] * weight[l] * (1 - decay[i]) / OneMinusProduct(decay[i], decay[l]);
    }
    for (double j = 1; j < k; ++j) sum += 2 * (k - j) * tail * Power(decay[i], j * b - 1);
  }
  return sum;
}

}  // namespace bandana

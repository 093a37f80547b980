#include "tests/support/counter_oracle.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <utility>

#include "common/base/check.h"
#include "common/mechanisms/counters/blt_tables.h"
#include "common/mechanisms/counters/epoch_schedule.h"
#include "common/mechanisms/counters/toeplitz.h"

namespace bandana::testing {
namespace {

double HonakerFactor(std::uint64_t t) {
  double sum = 0;
  for (int level = 0; level < std::bit_width(t); ++level) {
    if ((t >> level) & 1) sum += 1 / (2 - std::ldexp(1, -level));
  }
  return sum;
}

double HybridFactor(std::uint64_t t) {
  const int doublings = std::bit_width(t + 1) - 1;
  const std::uint64_t rest = t + 1 - (std::uint64_t{1} << doublings);
  return 2 * doublings * (1 + std::popcount(rest));
}

double BltFactor(const BltTable& table, std::uint64_t horizon, std::uint64_t t) {
  const Blt blt = BltOf(table);
  return BltSquaredSensitivity(blt.decay, blt.weight, horizon) * BltSquaredRow(blt, t);
}

double EpochFactor(std::uint64_t horizon, std::uint64_t t) {
  const std::uint64_t epochs = EpochsEndedBy(t);
  return epochs == 0 ? 0 : BltFactor(EpochTable(), EpochsEndedBy(horizon), epochs);
}

// theta^k from 1 - theta.
double Power(double decay, double k) { return std::exp(k * std::log1p(-decay)); }

// 1 - theta_a theta_b.
double OneMinusProduct(double a, double b) { return a + b - a * b; }

}  // namespace

double VarianceFactor(CounterKind kind, std::uint64_t horizon, std::uint64_t t) {
  BANDANA_CHECK(t >= 1 && t <= horizon && horizon <= std::uint64_t{1} << 40);
  const double levels = std::bit_width(horizon);
  switch (kind) {
    case CounterKind::kTree:
      return levels * std::popcount(t);
    case CounterKind::kHonaker:
      return levels * HonakerFactor(t);
    case CounterKind::kToeplitz:
      return ToeplitzSquaredSum(horizon) * ToeplitzSquaredSum(t);
    case CounterKind::kBlt:
      return BltFactor(BltTableFor(horizon), horizon, t);
    case CounterKind::kEpochs:
      return EpochFactor(horizon, t);
    case CounterKind::kHybrid:
      return HybridFactor(t);
  }
  BANDANA_CHECK(false);
  return 0;
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
    sum += blt.weight[i] * Power(blt.decay[i], static_cast<double>(k - 1));
  }
  return sum;
}

// In the form b_inf + sum_i G_i theta'_i^k, G_i = -w'_i / (1 - theta'_i) > 0, b_inf = prod (1 -
// theta_i) / (1 - theta'_i) = 1 - sum_i G_i: the form of blt.h cancels for large k.
double BltDecoderCoefficient(const Blt& blt, std::uint64_t k) {
  double limit = 1;
  double sum = 0;
  for (std::size_t i = 0; i < blt.inverse_decay.size(); ++i) {
    limit *= blt.decay[i] / blt.inverse_decay[i];
    sum += -blt.inverse_weight[i] / blt.inverse_decay[i] *
           Power(blt.inverse_decay[i], static_cast<double>(k));
  }
  return limit + sum;
}

double BltUserSquaredSensitivity(std::span<const double> decay, std::span<const double> weight,
                                 std::uint64_t participations, std::uint64_t separation) {
  BANDANA_CHECK(participations >= 1 && separation >= 1 && decay.size() == weight.size());
  const std::size_t buffers = decay.size();
  const double k = static_cast<double>(participations);
  const double b = static_cast<double>(separation);
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

double ToeplitzUserSquaredSensitivity(std::uint64_t n, std::uint64_t participations,
                                      std::uint64_t separation) {
  BANDANA_CHECK(n >= 1 && participations >= 1 && separation >= 1);
  std::vector<double> f(n, 1);
  for (std::size_t k = 1; k < n; ++k) {
    f[k] = f[k - 1] * (2 * static_cast<double>(k) - 1) / (2 * static_cast<double>(k));
  }
  std::vector<double> sum(n, 0);
  for (std::uint64_t j = 0; j < participations; ++j) {
    if (j > (n - 1) / separation) break;
    for (std::size_t k = j * separation; k < n; ++k) sum[k] += f[k - j * separation];
  }
  double squares = 0;
  for (const double s : sum) squares += s * s;
  return squares;
}

}  // namespace bandana::testing

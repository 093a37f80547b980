#include "research/tables/rate_search.h"

#include <cmath>
#include <cstddef>

#include "research/tables/nelder_mead.h"

namespace bandana::tools {
namespace {

constexpr long double kRejected = 1e30L;

// The point holds the logarithm of the slowest rate and then the logarithms of the increments of
// the logarithms, so that every point is interlaced.
BltRates Unpack(const Point& point) {
  BltRates rates;
  long double log_rate = point[0];
  for (std::size_t i = 0; i < point.size(); ++i) {
    if (i > 0) log_rate += std::exp(point[i]);
    (i % 2 == 0 ? rates.decay : rates.inverse_decay).push_back(std::exp(log_rate));
  }
  return rates;
}

// 1 - (theta_a theta_b)^n.
long double OneMinusPower(long double a, long double b, long double n) {
  return -std::expm1(n * (std::log1p(-a) + std::log1p(-b)));
}

}  // namespace

std::vector<long double> WeightsOf(const std::vector<long double>& decay,
                                   const std::vector<long double>& inverse_decay) {
  std::vector<long double> weights(decay.size());
  for (std::size_t i = 0; i < decay.size(); ++i) {
    weights[i] = inverse_decay[i] - decay[i];
    for (std::size_t j = 0; j < decay.size(); ++j) {
      if (j != i) weights[i] *= (inverse_decay[j] - decay[i]) / (decay[j] - decay[i]);
    }
  }
  return weights;
}

long double SquaredColumn(const BltRates& rates, long double n) {
  const std::vector<long double> w = WeightsOf(rates.decay, rates.inverse_decay);
  long double sum = 1;
  for (std::size_t i = 0; i < w.size(); ++i) {
    for (std::size_t j = 0; j < w.size(); ++j) {
      const long double a = rates.decay[i], b = rates.decay[j];
      sum += w[i] * w[j] * OneMinusPower(a, b, n - 1) / (a + b - a * b);
    }
  }
  return sum;
}

long double SquaredRow(const BltRates& rates, long double t) {
  const std::vector<long double> w = WeightsOf(rates.inverse_decay, rates.decay);
  std::vector<long double> g(w.size());
  long double limit = 1;
  for (std::size_t i = 0; i < w.size(); ++i) {
    limit *= rates.decay[i] / rates.inverse_decay[i];
    g[i] = -w[i] / rates.inverse_decay[i];
  }
  long double sum = t * limit * limit;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const long double a = rates.inverse_decay[i];
    sum += 2 * limit * g[i] * OneMinusPower(a, 0, t) / a;
    for (std::size_t j = 0; j < w.size(); ++j) {
      const long double b = rates.inverse_decay[j];
      sum += g[i] * g[j] * OneMinusPower(a, b, t) / (a + b - a * b);
    }
  }
  return sum;
}

BltRates SearchRates(const std::function<long double(const BltRates&)>& objective,
                     long double slowest, long double fastest, int buffers,
                     const SearchEffort& effort) {
  const long double spread = (std::log(fastest) - std::log(slowest)) / (buffers - 1);
  Point point = {std::log(slowest)};
  for (int i = 1; i < 2 * buffers; ++i) {
    point.push_back(std::log(spread * (i % 2 == 0 ? 0.55L : 0.45L)));
  }
  const auto at = [&](const Point& x) {
    const BltRates rates = Unpack(x);
    if (!(rates.inverse_decay.back() < 0.999L)) return kRejected;
    const long double value = objective(rates);
    return std::isfinite(value) ? value : kRejected;
  };
  long double best = 0;
  for (int i = 0; i < effort.restarts; ++i) {
    best = NelderMead(at, i % 2 == 0 ? 0.5L : 0.1L, effort.iterations, point);
  }
  BltRates rates = Unpack(point);
  rates.objective = best;
  return rates;
}

}  // namespace bandana::tools

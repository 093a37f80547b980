#include "tools/environments/zipf.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"

namespace bandana {
namespace {

constexpr double kNearZero = 1e-8;

// (e^x - 1) / x and log(1 + x) / x, at 0 as well.
double ExpRatio(double x) { return std::abs(x) > kNearZero ? std::expm1(x) / x : 1 + x / 2; }
double LogRatio(double x) { return std::abs(x) > kNearZero ? std::log1p(x) / x : 1 - x / 2; }

}  // namespace

ZipfLaw::ZipfLaw(std::uint64_t n, double exponent)
    : n_(static_cast<double>(n)), exponent_(exponent) {
  BANDANA_CHECK(n >= 1);
  BANDANA_CHECK(exponent >= 0 && exponent <= 10);
  area_first_ = Integral(1.5) - 1;
  area_last_ = Integral(n_ + 0.5);
  always_ = 2 - Inverse(Integral(2.5) - Density(2));
}

std::uint64_t ZipfLaw::Draw(SeededStream& stream) const {
  while (true) {
    const double area = area_last_ + stream.Uniform() * (area_first_ - area_last_);
    const double x = Inverse(area);
    const double rank = std::clamp(std::floor(x + 0.5), 1.0, n_);
    if (rank - x <= always_ || area >= Integral(rank + 0.5) - Density(rank)) {
      return static_cast<std::uint64_t>(rank) - 1;
    }
  }
}

double ZipfLaw::Density(double x) const { return std::exp(-exponent_ * std::log(x)); }

double ZipfLaw::Integral(double x) const {
  const double log = std::log(x);
  return ExpRatio((1 - exponent_) * log) * log;
}

double ZipfLaw::Inverse(double area) const {
  // Rounding may go below the law's lower end.
  const double t = std::max(-1.0, area * (1 - exponent_));
  return std::exp(LogRatio(t) * area);
}

}  // namespace bandana

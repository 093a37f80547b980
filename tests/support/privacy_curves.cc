#include "tests/support/privacy_curves.h"

#include <cmath>
#include <numbers>

#include "common/base/check.h"

namespace bandana::testing {
namespace {

// log of the bound at a = 1 + e^log_excess.
long double LogBound(long double rho, long double epsilon, long double log_excess) {
  const long double excess = std::exp(log_excess);
  const long double a = 1 + excess;
  return excess * (a * rho - epsilon) + a * -std::log1p(1 / excess) - log_excess;
}

}  // namespace

double GaussianDelta(Mu mu, Epsilon epsilon) {
  BANDANA_CHECK(mu.value > 0);
  const long double m = mu.value, e = epsilon.value;
  const long double root = std::numbers::sqrt2_v<long double>;
  const long double from = (e / m - m / 2) / root, to = (e / m + m / 2) / root;
  // Phi between the two, by whichever function does not cancel there.
  const long double between = from < 0.5L ? std::erf(to) - std::erf(from)  //
                                          : std::erfc(from) - std::erfc(to);
  return static_cast<double>((between - std::expm1(e) * std::erfc(to)) / 2);
}

double ZcdpDelta(Rho rho, Epsilon epsilon) {
  BANDANA_CHECK(rho.value > 0);
  const auto bound = [&](long double at) { return LogBound(rho.value, epsilon.value, at); };
  const long double golden = 1 / std::numbers::phi_v<long double>;
  long double low = -60, high = 60;
  for (int i = 0; i < 300; ++i) {
    const long double step = golden * (high - low);
    (bound(high - step) < bound(low + step) ? high : low) =
        bound(high - step) < bound(low + step) ? low + step : high - step;
  }
  return static_cast<double>(std::fmin(1.0L, std::exp(bound((low + high) / 2))));
}

}  // namespace bandana::testing

#include "common/accounting/zcdp.h"

#include <cmath>

#include "common/accounting/ranges.h"
#include "common/accounting/rounding.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr double kMax = 1e6;
// Relative to the logarithm's terms; they are of size up to (a - 1)(a rho + eps).
constexpr long double kLogSlack = 1e-15L;

// d/da of the logarithm of the bound, (2a - 1) rho - eps + ln(1 - 1/a): increasing in a, so its
// zero is the minimiser.
long double Slope(long double a, long double rho, long double epsilon) {
  return (2 * a - 1) * rho - epsilon + std::log1p(-1 / a);
}

// log of the bound at its minimiser, rounded up.
long double ZcdpLogDelta(long double rho, long double epsilon) {
  long double low = 1, high = (epsilon + 1) / (2 * rho) + 2;
  for (int i = 0; i < 200; ++i) {
    const long double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (Slope(middle, rho, epsilon) < 0 ? low : high) = middle;
  }
  const long double a = high;  // > 1
  const long double gain = (a - 1) * (a * rho - epsilon);
  const long double entropy = a * std::log1p(-1 / a) - std::log(a - 1);
  const long double size = (a - 1) * (a * rho + epsilon) + std::fabs(entropy) + 1;
  return gain + entropy + kLogSlack * size;
}

double ZcdpDeltaUp(double rho, double epsilon) {
  if (rho == 0) return 0;
  const long double delta = std::exp(ZcdpLogDelta(rho, epsilon));
  return std::fmin(1.0, Up(static_cast<double>(delta)));
}

absl::Status CheckRange(const char* name, double value, double max) {
  if (value >= 0 && value <= max) return absl::OkStatus();
  return InvalidArgument(name, " must be in [0, ", max, "], got ", value);
}

}  // namespace

absl::StatusOr<Epsilon> ZcdpEpsilon(Rho rho, Delta delta) {
  BANDANA_RETURN_IF_ERROR(CheckRange("rho", rho.value, kMax));
  BANDANA_RETURN_IF_ERROR(CheckDelta(delta));
  if (ZcdpDeltaUp(rho.value, 0) <= delta.value) return Epsilon{0};
  double low = 0, high = 1;
  while (ZcdpDeltaUp(rho.value, high) > delta.value) high *= 2;
  for (int i = 0; i < 200 && std::nextafter(low, high) < high; ++i) {
    const double middle = low + (high - low) / 2;
    (ZcdpDeltaUp(rho.value, middle) <= delta.value ? high : low) = middle;
  }
  return Epsilon{high};
}

absl::StatusOr<Rho> CalibrateZcdp(Epsilon epsilon, Delta delta) {
  BANDANA_RETURN_IF_ERROR(CheckRange("epsilon", epsilon.value, kCalibrationEpsilonMax));
  BANDANA_RETURN_IF_ERROR(CheckDelta(delta));
  double low = 0, high = kMax;
  for (int i = 0; i < 300 && std::nextafter(low, high) < high; ++i) {
    const double middle = low + (high - low) / 2;
    (ZcdpDeltaUp(middle, epsilon.value) <= delta.value ? low : high) = middle;
  }
  return Rho{low};
}

Rho RhoOfPure(Epsilon epsilon) { return {Up(epsilon.value * epsilon.value / 2)}; }
Rho RhoOfGaussian(Mu mu) { return {Up(mu.value * mu.value / 2)}; }

}  // namespace bandana

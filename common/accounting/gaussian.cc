#include "common/accounting/gaussian.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "common/accounting/mills.h"
#include "common/accounting/ranges.h"
#include "common/accounting/rounding.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// Covers the rounding of everything below: a few hundred long double ulps, times 1e5 where two
// Mills ratios nearly cancel (RatioGap).
constexpr long double kRelativeSlack = 1e-12L;
constexpr double kMuMax = 50;

// R(x1) - R(x2), x2 = x1 + mu, R the Mills ratio. Where the two cancel, the trapezoid of -R' = 1 -
// x R over [x1, x2]. It is above the integral, because R is completely monotone, and by at most a
// share mu^2 / 12 (3 + x1^2).
long double RatioGap(long double x1, long double x2, long double mu) {
  const long double r1 = MillsRatio(x1);
  const long double r2 = MillsRatio(x2);
  if (r1 - r2 > 1e-5L * r1) return r1 - r2;
  return mu / 2 * ((1 - x1 * r1) + (1 - x2 * r2));
}

// log of delta(eps). Because e^eps phi(x2) = phi(x1), with x1 = eps/mu - mu/2 and x2 = eps/mu +
// mu/2,
//   delta = phi(x1) (R(x1) - R(x2)), R the Mills ratio: no cancellation of e^eps against a tiny
//   tail.
long double GaussianLogDelta(long double mu, long double epsilon) {
  const long double x1 = epsilon / mu - mu / 2;
  const long double x2 = epsilon / mu + mu / 2;
  return -x1 * x1 / 2 - std::log(2 * std::numbers::pi_v<long double>) / 2 +
         std::log(RatioGap(x1, x2, mu));
}

double RoundUp(long double value) {
  const long double padded = value * (1 + kRelativeSlack);
  const double rounded = static_cast<double>(padded);
  return rounded < padded ? Up(rounded) : rounded;
}

double GaussianDeltaUp(double mu, double epsilon) {
  if (mu == 0) return 0;
  const long double log_delta = GaussianLogDelta(mu, epsilon);
  const double delta = RoundUp(std::exp(log_delta));
  // A positive tail below the smallest double is still positive.
  return std::fmin(1.0, std::fmax(delta, std::numeric_limits<double>::denorm_min()));
}

// delta(epsilon) + (1 + e^epsilon) variation.
double DeltaWithin(double mu, double epsilon, double variation) {
  const double curve = GaussianDeltaUp(mu, epsilon);
  if (variation == 0) return curve;
  return RoundUp(curve + (1 + std::exp(static_cast<long double>(epsilon))) * variation);
}

// 1 - Phi(x). Requires x >= 0.
long double UpperTail(long double x) {
  return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi_v<long double>) * MillsRatio(x);
}

// Where DeltaWithin is the least over epsilon in [0, limit], nearly: a function of e^epsilon it is
// convex, of slope variation - (1 - Phi(epsilon / mu + mu / 2)).
double BestEpsilon(double mu, double variation, double limit) {
  double low = 0, high = limit;
  for (int i = 0; i < 200 && std::nextafter(low, high) < high; ++i) {
    const double middle = low + (high - low) / 2;
    const long double x = static_cast<long double>(middle) / mu + mu / 2;
    (UpperTail(x) > variation ? low : high) = middle;
  }
  return high;
}

absl::Status CheckMu(Mu mu) {
  if (mu.value >= 0 && mu.value <= kMuMax) return absl::OkStatus();
  return InvalidArgument("mu must be in [0, ", kMuMax, "], got ", mu.value);
}

absl::Status CheckEpsilon(Epsilon epsilon, double max) {
  if (epsilon.value >= 0 && epsilon.value <= max) return absl::OkStatus();
  return InvalidArgument("epsilon must be in [0, ", max, "], got ", epsilon.value);
}

absl::Status CheckGrid(long coordinates, double sigma_grid) {
  if (coordinates < 0) return InvalidArgument("coordinates must be >= 0, got ", coordinates);
  if (sigma_grid >= 2 && std::isfinite(sigma_grid)) return absl::OkStatus();
  return InvalidArgument("sigma_grid must be finite and at least 2 grid steps, got ", sigma_grid);
}

}  // namespace

// PROOF: accounting begin
absl::StatusOr<Epsilon> GaussianEpsilon(Mu mu, Delta delta, TotalVariation variation) {
  BANDANA_RETURN_IF_ERROR(CheckMu(mu));
  BANDANA_RETURN_IF_ERROR(CheckDelta(delta));
  const double off = variation.value;
  if (!(off >= 0)) return InvalidArgument("variation must be >= 0, got ", off);
  const auto holds = [&](double epsilon) {
    return DeltaWithin(mu.value, epsilon, off) <= delta.value;
  };
  if (holds(0)) return Epsilon{0};
  double low = 0, high = 1;
  if (off == 0) {
    while (!holds(high)) high *= 2;  // ends: delta(eps) falls below any delta > 0
  } else {
    // Beyond the limit e^epsilon off alone is more than delta.
    const double limit = std::log(delta.value / off);
    if (mu.value > 0 && limit > 0) high = BestEpsilon(mu.value, off, limit);
    if (!holds(high)) return InvalidArgument("no epsilon has so small a delta");
  }
  // Keeps delta(high) <= delta: the upper end is always a valid answer.
  for (int i = 0; i < 200 && std::nextafter(low, high) < high; ++i) {
    const double middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return Epsilon{high};
}
// PROOF: accounting end

absl::StatusOr<Mu> CalibrateGaussian(Epsilon epsilon, Delta delta) {
  BANDANA_RETURN_IF_ERROR(CheckEpsilon(epsilon, kCalibrationEpsilonMax));
  BANDANA_RETURN_IF_ERROR(CheckDelta(delta));
  double low = 0, high = kMuMax;
  if (GaussianDeltaUp(high, epsilon.value) <= delta.value) return Mu{high};
  // Keeps delta(low) <= delta: the lower end is always a valid answer. A tiny delta takes more than
  // a thousand halvings.
  for (int i = 0; i < 1200 && std::nextafter(low, high) < high; ++i) {
    const double middle = low + (high - low) / 2;
    (GaussianDeltaUp(middle, epsilon.value) <= delta.value ? low : high) = middle;
  }
  return Mu{low};
}

// PROOF: accounting begin
absl::StatusOr<TotalVariation> DiscreteGaussianVariation(long coordinates, double sigma_grid) {
  BANDANA_RETURN_IF_ERROR(CheckGrid(coordinates, sigma_grid));
  const long double n = coordinates;
  const long double of_all = std::min(0.0202L * n, 0.042L * std::sqrt(n));
  const long double sigma = sigma_grid;
  return TotalVariation{std::fmin(1.0, RoundUp(of_all / (sigma * sigma)))};
}
// PROOF: accounting end

absl::StatusOr<Delta> DiscreteGaussianSlack(Epsilon epsilon, long coordinates, double sigma_grid) {
  BANDANA_RETURN_IF_ERROR(CheckEpsilon(epsilon, kCalibrationEpsilonMax));
  BANDANA_RETURN_IF_ERROR(CheckGrid(coordinates, sigma_grid));
  const long double slack = (1 + std::exp(static_cast<long double>(epsilon.value))) * coordinates *
                            0.0202L / (static_cast<long double>(sigma_grid) * sigma_grid);
  return Delta{std::fmin(1.0, RoundUp(slack))};
}

}  // namespace bandana

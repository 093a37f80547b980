#include "common/accounting/composition.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/accounting/gaussian.h"
#include "common/accounting/rounding.h"
#include "common/accounting/zcdp.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// total += count * (value / unit rounded up), stopping at kSaturated. The division by a power of
// two is exact. Requires value
// >= 0.
void AddUp(double value, double unit, std::uint64_t count, std::uint64_t& total) {
  const double units = std::ceil(value / unit);
  if (!(units < static_cast<double>(PrivacyTotals::kSaturated))) {
    if (count > 0) total = PrivacyTotals::kSaturated;
    return;
  }
  const unsigned __int128 sum =
      static_cast<unsigned __int128>(static_cast<std::uint64_t>(units)) * count + total;
  total =
      sum < PrivacyTotals::kSaturated ? static_cast<std::uint64_t>(sum) : PrivacyTotals::kSaturated;
}

// A total as a double, never smaller than it.
double ValueUp(std::uint64_t units, double unit) {
  if (units == PrivacyTotals::kSaturated) return std::numeric_limits<double>::infinity();
  return units == 0 ? 0 : Up(static_cast<double>(units)) * unit;
}

}  // namespace

// PROOF: accounting begin
absl::StatusOr<PrivacyTotals> Compose(const PrivacyTotals& totals, const PrivacyCost& cost,
                                      std::uint64_t count) {
  if (cost.pure.has_value() + cost.mu.has_value() + cost.rho.has_value() != 1) {
    return InvalidArgument("a privacy cost must be exactly one of pure, Gaussian and zCDP");
  }
  const double value = cost.pure ? cost.pure->value : cost.mu ? cost.mu->value : cost.rho->value;
  if (!(value >= 0) || !std::isfinite(value)) {
    return InvalidArgument("a privacy cost must be finite and >= 0, got ", value);
  }
  const double variation = cost.variation.value;
  if (!(variation >= 0 && variation < 1)) {
    return InvalidArgument("variation must be in [0, 1), got ", variation);
  }
  if (variation > 0 && !cost.mu) {
    return InvalidArgument("only a Gaussian cost has a variation, got ", variation);
  }
  PrivacyTotals next = totals;
  double rho = value;
  if (cost.pure) {
    AddUp(value, PrivacyTotals::kUnit, count, next.pure);
    AddUp(1, 1, count, next.releases_pure);
    rho = RhoOfPure(*cost.pure).value;
  } else if (cost.mu) {
    AddUp(Up(value * value), PrivacyTotals::kUnit, count, next.mu_squared);
    AddUp(variation, PrivacyTotals::kVariationUnit, count, next.variation);
    AddUp(1, 1, count, next.releases_gaussian);
    rho = RhoOfGaussian(*cost.mu).value;
  } else {
    AddUp(1, 1, count, next.releases_zcdp);
  }
  AddUp(rho, PrivacyTotals::kUnit, count, next.rho);
  return next;
}
// PROOF: accounting end

PrivacyTotals Parallel(const PrivacyTotals& a, const PrivacyTotals& b) {
  PrivacyTotals both;
  both.pure = std::max(a.pure, b.pure);
  both.mu_squared = std::max(a.mu_squared, b.mu_squared);
  both.rho = std::max(a.rho, b.rho);
  both.variation = std::max(a.variation, b.variation);
  both.releases_pure = std::max(a.releases_pure, b.releases_pure);
  both.releases_gaussian = std::max(a.releases_gaussian, b.releases_gaussian);
  both.releases_zcdp = std::max(a.releases_zcdp, b.releases_zcdp);
  return both;
}

std::optional<Epsilon> PrivacyReadings::best() const {
  std::optional<Epsilon> best;
  for (const auto& reading : {pure_sum, gaussian_curve, zcdp}) {
    if (reading && (!best || reading->value < best->value)) best = reading;
  }
  return best;
}

// PROOF: accounting begin
absl::StatusOr<PrivacyReadings> Read(const PrivacyTotals& totals, Delta delta) {
  if (!(delta.value >= 0 && delta.value < 1)) {
    return InvalidArgument("delta must be in [0, 1), got ", delta.value);
  }
  PrivacyReadings readings;
  const bool only_pure = totals.releases_gaussian == 0 && totals.releases_zcdp == 0;
  const bool only_gaussian = totals.releases_pure == 0 && totals.releases_zcdp == 0;
  if (only_pure && totals.pure != PrivacyTotals::kSaturated) {
    readings.pure_sum = Epsilon{ValueUp(totals.pure, PrivacyTotals::kUnit)};
  }
  if (delta.value == 0) return readings;
  // Totals beyond a curve's range have no reading there.
  if (only_gaussian) {
    const Mu mu{Up(std::sqrt(ValueUp(totals.mu_squared, PrivacyTotals::kUnit)))};
    const TotalVariation variation{ValueUp(totals.variation, PrivacyTotals::kVariationUnit)};
    if (const auto epsilon = GaussianEpsilon(mu, delta, variation); epsilon.ok())
      readings.gaussian_curve = *epsilon;
  }
  const Rho rho{ValueUp(totals.rho, PrivacyTotals::kUnit)};
  if (const auto epsilon = ZcdpEpsilon(rho, delta); epsilon.ok()) readings.zcdp = *epsilon;
  return readings;
}
// PROOF: accounting end

Epsilon GroupPure(Epsilon epsilon, std::uint64_t k) {
  return {Up(epsilon.value * Up(static_cast<double>(k)))};
}
Rho GroupZcdp(Rho rho, std::uint64_t k) {
  const double size = Up(static_cast<double>(k));
  return {Up(rho.value * Up(size * size))};
}
}  // namespace bandana

#include "tests/support/sampler_mutants.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace bandana::testing {
namespace {

// `weight` of each integer to 40 reach, normalised; beyond that every law here is below 1e-300.
IntegerLaw Normalised(std::int64_t reach, const std::function<double(double)>& weight) {
  IntegerLaw law{reach, std::vector<double>(2 * static_cast<std::size_t>(reach) + 1, 0.0)};
  double total = 0;
  for (std::int64_t z = -40 * reach; z <= 40 * reach; ++z) {
    const double w = weight(static_cast<double>(z));
    law.masses[law.Cell(z)] += w;
    total += w;
  }
  for (double& mass : law.masses) mass /= total;
  return law;
}

double GaussianWeight(double z, double sigma_squared) {
  return std::exp(-z * z / (2 * sigma_squared));
}

}  // namespace

std::size_t IntegerLaw::Cell(std::int64_t z) const {
  return static_cast<std::size_t>(std::clamp(z, -reach, reach) + reach);
}

IntegerLaw GaussianLaw(double sigma_squared, std::int64_t reach) {
  return Normalised(reach, [=](double z) { return GaussianWeight(z, sigma_squared); });
}

IntegerLaw SigmaThreePercentOff(double sigma_squared, std::int64_t reach) {
  return GaussianLaw(sigma_squared * 0.97 * 0.97, reach);
}

IntegerLaw MinusZeroKept(double sigma_squared, std::int64_t reach) {
  return Normalised(reach,
                    [=](double z) { return (z == 0 ? 2 : 1) * GaussianWeight(z, sigma_squared); });
}

IntegerLaw TailTruncated(double sigma_squared, std::int64_t reach) {
  return Normalised(reach, [=](double z) {
    return z * z > 16 * sigma_squared ? 0 : GaussianWeight(z, sigma_squared);
  });
}

IntegerLaw BiasOfAnotherScale(double sigma_squared, double scale, std::int64_t reach) {
  return Normalised(reach, [=](double z) {
    const double gap = std::abs(z) - std::sqrt(sigma_squared);
    return std::exp(-std::abs(z) / scale - gap * gap / (2 * sigma_squared));
  });
}

}  // namespace bandana::testing

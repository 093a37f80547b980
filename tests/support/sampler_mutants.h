// The law of the discrete Gaussian over cells, and of broken samplers that the tests must reject.
#pragma once

#include <cstdint>
#include <vector>

namespace bandana::testing {

// Masses of the cells -reach, .., reach; what lies beyond is in the two end cells.
struct IntegerLaw {
  std::int64_t reach = 0;
  std::vector<double> masses;  // 2 reach + 1

  std::size_t Cell(std::int64_t z) const;
};

// P(z) proportional to exp(-z^2 / (2 sigma_squared)).
IntegerLaw GaussianLaw(double sigma_squared, std::int64_t reach);
// The standard deviation is 3 % too small.
IntegerLaw SigmaThreePercentOff(double sigma_squared, std::int64_t reach);
// The Laplace draw behind it keeps both signs of zero: P(0) counts twice.
IntegerLaw MinusZeroKept(double sigma_squared, std::int64_t reach);
// Nothing beyond four standard deviations.
IntegerLaw TailTruncated(double sigma_squared, std::int64_t reach);
// Laplace draws of scale t kept with probability exp(-(|y| - sigma)^2 / (2 sigma^2)): right only
// where t = sigma.
IntegerLaw BiasOfAnotherScale(double sigma_squared, double scale, std::int64_t reach);

}  // namespace bandana::testing

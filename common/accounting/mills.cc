#include "common/accounting/mills.h"

#include <cmath>
#include <numbers>

namespace bandana {

long double MillsRatio(long double x) {
  constexpr long double kPi = std::numbers::pi_v<long double>;
  if (x < 8) {
    // (1 - Phi(x)) / phi(x) = sqrt(pi/2) exp(x^2/2) erfc(x/sqrt(2)); exp's argument costs x^2/2
    // ulps.
    return std::sqrt(kPi / 2) * std::exp(x * x / 2) *
           std::erfc(x / std::numbers::sqrt2_v<long double>);
  }
  // Laplace's continued fraction 1/(x + 1/(x + 2/(x + 3/(x + ...)))), from below. At x = 8, 80
  // terms leave less than 1e-20.
  long double tail = x;
  for (int k = 80; k >= 1; --k) tail = x + static_cast<long double>(k) / tail;
  return 1 / tail;
}

}  // namespace bandana

#include "common/mechanisms/counters/toeplitz.h"

#include <cmath>
#include <numbers>

#include "common/base/check.h"

namespace bandana {

double ToeplitzSquaredSum(std::uint64_t n) {
  BANDANA_CHECK(n >= 1);
  constexpr std::uint64_t kSummedMax = 4096;
  if (n < kSummedMax) {
    double sum = 0;
    double f = 1;
    for (std::uint64_t k = 0; k < n; ++k) {
      sum += f * f;
      const double next = static_cast<double>(k) + 1;
      f *= (2 * next - 1) / (2 * next);
    }
    return sum;
  }
  const double x = static_cast<double>(n);
  return (std::log(x) + std::numbers::egamma + 4 * std::numbers::ln2 - 1 / (4 * x) +
          5 / (192 * x * x)) /
         std::numbers::pi;
}

}  // namespace bandana

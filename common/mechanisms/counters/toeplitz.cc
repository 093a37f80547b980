#include "common/mechanisms/counters/toeplitz.h"

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

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

double ToeplitzUserSquaredSensitivity(std::uint64_t n, std::uint64_t participations,
                                      std::uint64_t separation) {
  BANDANA_CHECK(n >= 1 && participations >= 1 && separation >= 1);
  std::vector<double> f(n, 1);
  for (std::size_t k = 1; k < n; ++k) {
    f[k] = f[k - 1] * (2 * static_cast<double>(k) - 1) / (2 * static_cast<double>(k));
  }
  std::vector<double> sum(n, 0);
  for (std::uint64_t j = 0; j < participations; ++j) {
    if (j > (n - 1) / separation) break;
    for (std::size_t k = j * separation; k < n; ++k) sum[k] += f[k - j * separation];
  }
  double squares = 0;
  for (const double s : sum) squares += s * s;
  return squares;
}

}  // namespace bandana

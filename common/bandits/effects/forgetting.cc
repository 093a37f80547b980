#include "common/bandits/effects/forgetting.h"

namespace bandana {
namespace {

constexpr double kLn2 = 0.6931471805599453;
constexpr int kTerms = 24;  // of a series in at most 2 ln 2: the rest is below 1e-18

// 1 - e^-x for x in [0, 2 ln 2], without cancellation where x is small.
double OneLessExp(double x) {
  double term = 1;
  double sum = 0;
  for (int k = 1; k <= kTerms; ++k) {
    term *= -x / k;
    sum -= term;
  }
  return sum;
}

}  // namespace

Forgetting ForgettingOf(std::uint64_t half_life) {
  if (half_life == 0) return {};
  const double rate = kLn2 / static_cast<double>(half_life);
  return {.kept = static_cast<float>(1 - OneLessExp(rate)),
          .renewed = static_cast<float>(OneLessExp(2 * rate))};
}

}  // namespace bandana

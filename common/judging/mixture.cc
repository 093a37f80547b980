#include "common/judging/mixture.h"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

namespace bandana {
namespace {

namespace policies = boost::math::policies;

// No exception leaves it, and double stays double.
using NoThrow = policies::policy<
    policies::domain_error<policies::ignore_error>, policies::pole_error<policies::ignore_error>,
    policies::overflow_error<policies::ignore_error>,
    policies::evaluation_error<policies::ignore_error>, policies::promote_double<false>>;

constexpr double kParameterMin = 1e-3;

double LogLowerGamma(double a, double x) {
  return boost::math::lgamma(a, NoThrow()) + std::log(boost::math::gamma_p(a, x, NoThrow()));
}

}  // namespace

double LogGammaExponential(double s, double v, double r) {
  const double sum = s + v + r;
  return s + v + r * std::log(r) - (v + r) * std::log(sum) + LogLowerGamma(v + r, sum) -
         LogLowerGamma(r, r);
}

double GammaExponentialRoot(double log_threshold, double v, double r) {
  double high = 1 + log_threshold + std::sqrt(2 * v * log_threshold);
  while (LogGammaExponential(high, v, r) < log_threshold) high *= 2;
  double low = 0;
  // To the last bit but a few: each step halves.
  for (int step = 0; step < 60 && high - low > 1e-13 * high; ++step) {
    const double middle = low + (high - low) / 2;
    (LogGammaExponential(middle, v, r) < log_threshold ? low : high) = middle;
  }
  return high;
}

double MixtureParameter(double v_planned, double log_threshold) {
  return std::max(kParameterMin, v_planned / (2 * log_threshold + std::log(1 + 2 * log_threshold)));
}

}  // namespace bandana

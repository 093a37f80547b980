// The gamma-exponential mixture, from which intervals are made that hold at every length.
#pragma once

namespace bandana {

// log M of the supermartingale
//
//   log M = s + v + r log r - (v + r) log(s + v + r) + log g(v + r, s + v + r) - log g(r, r),
//
// g the lower incomplete gamma function. Where s sums x_t - m_t, with E[x_t | past] <= m_t and
// x_t >= -1, and v sums x_t^2, M is at most a nonnegative supermartingale that begins at 1. So the
// chance that it ever exceeds 1/alpha is at most alpha.
//
// Ranges: s >= 0, v >= 0, r > 0; no unit.   Errors: none.   Threads: safe.   Cost: about 1 us.
// Source: mixture over l in [0, 1) of exp(l s - v (-log(1-l) - l)): gamma-exponential mixture of
//         [HRMS21]; that each is a supermartingale, v being a sum of squares: [FGL15].
double LogGammaExponential(double s, double v, double r);

// The s >= 0 at which LogGammaExponential is `log_threshold` > 0: it grows with s.
double GammaExponentialRoot(double log_threshold, double v, double r);

// An r with which the interval is short when v is about `v_planned` >= 0; any other is valid.
// v / (2 L + log(1 + 2 L)), L = log_threshold: the tuning of [HRMS21]; at least 0.001.
double MixtureParameter(double v_planned, double log_threshold);

}  // namespace bandana

// The cap of the unit sphere that privunit prefers, and what a uniform direction does beside it.
#pragma once

#include "absl/status/statusor.h"
#include "common/accounting/types.h"

namespace bandana {

// In these, u is uniform on the unit sphere of R^n, v any unit vector, t = <u, v> and n >= 3.
// Relative error below 1e-10 where the mass is at least 1e-5.
//
// P(t >= g), the cap's share of the sphere. Requires 0 <= g <= 1; below 6 / sqrt(n), or g^2 > 1/2.
double CapMass(int n, double g);
// E[t; t >= g] = c_n (1 - g^2)^((n - 1)/2) / (n - 1).
double CapMoment(int n, double g);
// The density of t at g, c_n (1 - g^2)^((n - 3)/2), c_n = Gamma(n/2) / (sqrt(pi) Gamma((n - 1)/2)).
double CapDensity(int n, double g);

// A direction u is accepted always if <u, v> >= threshold and with probability e^-epsilon
// otherwise: the law is a mixture of the cap and its complement whose densities differ by the
// factor e^epsilon.
struct CapDesign {
  int n = 0;
  double epsilon = 0;
  double threshold = 0;   // g
  double mass = 0;        // q
  double acceptance = 0;  // Z = q + (1 - q) e^-epsilon, at least kMassMin
  double mean = 0;        // m = E<u, v> of an accepted u
  double cap_weight = 0;  // p = q / Z, the probability of the cap
  double slack = 0;       // bound on what the code's rounding adds to epsilon; privunit.md

  // The largest variance of u / m in any direction, (1 - g m) / (n m^2), that of directions
  // orthogonal to v; with g = m it is the variance in every direction.
  double Variance() const { return (1 - threshold * mean) / (n * mean * mean); }
};

// No cap is smaller, so that 1 / Z <= 4096 directions are drawn on average. It binds above
// epsilon = 11 or so, where more noise is accepted for it.
inline constexpr double kCapMassMin = 0x1p-12;

// The cap that minimises 1 / m^2, among those of mass at least kCapMassMin. The optimum has g = m:
// d/dg of ln m = ln M(g) - ln Z(g) vanishes there. g is rounded down to a multiple of 2^-20.
// Cost: 0.03 ms at n = 66, 8 ms at n = 33,153. Errors: INVALID_ARGUMENT n outside [3, 2^16] or
// epsilon outside (0, 1000].
absl::StatusOr<CapDesign> DesignCap(int n, Epsilon epsilon);

}  // namespace bandana

// The bound on a play's gradient factor (ConvexPlay::factor).
#pragma once

#include <span>

namespace bandana {

// Entries of a play's gradient factor are within it: their products with rewards and with each
// other, summed over 2^53 events, stay within the 1e100 of statistics.
inline constexpr double kPlayFactorMax = 1e30;

// Whether a play can have had it: every entry within kPlayFactorMax, not NaN.
bool IsPlayFactor(std::span<const double> features);

}  // namespace bandana

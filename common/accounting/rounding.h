// Rounding of privacy's arithmetic to the side that promises less.
#pragma once

#include <cmath>
#include <limits>

namespace bandana {

// As a factor, larger than any rounding error of a few operations.
inline constexpr double kOutward = 1 + 0x1p-48;

// The next double above.
inline double Up(double value) {
  return std::nextafter(value, std::numeric_limits<double>::infinity());
}

}  // namespace bandana

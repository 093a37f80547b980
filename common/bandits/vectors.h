// Vectors of doubles in plain loops, whose order is the same everywhere.
#pragma once

#include <cstddef>

namespace bandana {

// y += a x.
inline void AddScaled(double a, const double* x, std::size_t n, double* y) {
  for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i];
}

}  // namespace bandana

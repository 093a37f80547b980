// The few vector operations that environments need.
#pragma once

#include <cstddef>
#include <span>

#include "tools/environments/random.h"

namespace bandana {

inline double Dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Scales x to length `length`, a hair (1e-15) inside so that no order of summation finds it longer.
// Requires x != 0.
void ScaleToLength(std::span<double> x, double length);

// Fills x with a uniformly random direction of length `length`.
void DrawDirection(SeededStream& stream, double length, std::span<double> x);

}  // namespace bandana

#include "tools/environments/vectors.h"

#include <cmath>

#include "common/base/check.h"

namespace bandana {

void ScaleToLength(std::span<double> x, double length) {
  const double norm = std::sqrt(Dot(x, x));
  BANDANA_CHECK(norm > 0);
  const double factor = length * (1 - 1e-15) / norm;
  for (double& entry : x) entry *= factor;
}

void DrawDirection(SeededStream& stream, double length, std::span<double> x) {
  do {
    for (double& entry : x) entry = stream.Normal();
  } while (!(Dot(x, x) > 0));
  ScaleToLength(x, length);
}

}  // namespace bandana

#include "common/mechanisms/feature_ball.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace bandana {
namespace {

double SquaredNorm(std::span<const double> x) {
  // Four sums, because one would wait for each addition in turn.
  double s[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= x.size(); i += 4) {
    for (std::size_t k = 0; k < 4; ++k) s[k] += x[i + k] * x[i + k];
  }
  for (; i < x.size(); ++i) s[0] += x[i] * x[i];
  return (s[0] + s[1]) + (s[2] + s[3]);
}

}  // namespace

bool InBall(std::span<const double> x, double l2_max) { return SquaredNorm(x) <= l2_max * l2_max; }

BallFit ClipToBall(std::span<double> x, double l2_max) {
  if (InBall(x, l2_max)) return BallFit::kInside;
  // Divided by the largest feature first: squares, and even the norm, may overflow.
  double largest = 0;
  for (const double v : x) {
    if (!std::isfinite(v)) return BallFit::kNotFinite;
    largest = std::max(largest, std::abs(v));
  }
  double sum = 0;
  for (const double v : x) sum += (v / largest) * (v / largest);
  const double relative_norm = std::sqrt(sum);  // in [1, sqrt(d)]
  const bool outside = largest > l2_max * kNormSlack / relative_norm;
  const double scale = l2_max / relative_norm;
  for (double& v : x) v = v / largest * scale;
  // Rounding may leave the result just above the bound. Ends: the last step leaves zeros.
  double less = 0x1p-52;
  while (!InBall(x, l2_max)) {
    for (double& v : x) v *= 1 - less;
    less *= 2;
  }
  return outside ? BallFit::kOutside : BallFit::kRounding;
}

}  // namespace bandana

#include "common/mechanisms/hybrid_design.h"

#include <algorithm>
#include <limits>

namespace bandana {

HybridDesign DesignHybrid(double ratio, std::uint32_t positions) {
  // One bit: E v^2 = c^2 at every s.
  const double c = (ratio + 1) / (ratio - 1);
  const double bit_moment = c * c;
  const double j = positions;
  HybridDesign best;
  best.variance_max = std::numeric_limits<double>::infinity();
  for (std::uint32_t width = 1; width <= positions; ++width) {
    // Window mechanism with cell spacing u: E v^2 = constant + slope s^2 at the knots, since a
    // window centred at z has sum of v^2 equal to w z^2 + u^2 w (w^2 - 1) / 12, and z = s / ((high
    // - low) w).
    const double w = width;
    const double cells = j + w;
    const double low = 1 / (w * ratio + j);
    const double gap = (ratio - 1) * low;  // high - low
    const double spacing = 2 / (j * w * gap);
    const double constant =
        spacing * spacing / 12 * (low * cells * (cells * cells - 1) + gap * w * (w * w - 1));
    const double slope = 1 / (gap * w);  // > 1
    // Var(s) = a (constant + slope s^2) + (1 - a) c^2 - s^2. Less a: grows at s = 0 while constant
    // < c^2; more a: grows at |s| = 1. Flat in s at a = 1 / slope.
    const double share = std::min(1.0, 1 / slope);
    const double variance = share * constant + (1 - share) * bit_moment;
    if (variance < best.variance_max) best = {width, share, variance};
  }
  return best;
}

}  // namespace bandana

// Parameters of the hybrid reward randomizer: how wide the window, how often the single bit.
#pragma once

#include <cstdint>

namespace bandana {

struct HybridDesign {
  std::uint32_t width = 1;  // w, cells of the window
  double window_share = 1;  // a, probability of the window mechanism; in (0, 1]
  double variance_max =
      0;  // worst case in units of s, of the law with real-valued masses and J -> infinity in s
};

// The width in [1, positions] and the share of the least worst-case variance, for likelihood ratio
// `ratio` > 1 and a window of `positions` positions. O(positions), only + - * / on doubles.
HybridDesign DesignHybrid(double ratio, std::uint32_t positions);

}  // namespace bandana

// Where rewards lie.
#pragma once

#include <algorithm>
#include <cmath>

namespace bandana {

// The enforced reward range, min < max, both finite.
struct RewardRange {
  double min = 0;
  double max = 1;
  double width() const { return max - min; }
  // Devices and server subtract this from a reward before they count it. Both sides must get the
  // same bits, so this is the one formula for it.
  double middle() const { return min + width() / 2; }
  double abs_max() const { return std::max(std::abs(min), std::abs(max)); }
};

}  // namespace bandana

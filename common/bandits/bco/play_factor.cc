#include "common/bandits/bco/play_factor.h"

#include <algorithm>
#include <cmath>

namespace bandana {

bool IsPlayFactor(std::span<const double> features) {
  return std::all_of(features.begin(), features.end(),
                     [](double x) { return std::abs(x) <= kPlayFactorMax; });
}

}  // namespace bandana

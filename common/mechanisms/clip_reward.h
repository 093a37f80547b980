// A reaction as a number that counts.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "common/mechanisms/reward_range.h"

namespace bandana {

// PROOF: device_stream begin
// Missing and NaN mean `default_reward`; out of range moves to the bound.
inline double ClipReward(std::optional<double> reward, const RewardRange& range,
                         double default_reward) {
  const double value = reward && !std::isnan(*reward) ? *reward : default_reward;
  return std::clamp(value, range.min, range.max);
}
// PROOF: device_stream end

}  // namespace bandana

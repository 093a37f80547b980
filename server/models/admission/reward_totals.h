// The sum of the rewards that a model which is not private was told.
#pragma once

#include <cstdint>

namespace bandana::server {

// Rewards of the reports accepted since the start.
struct RewardTotals {
  std::uint64_t count = 0;
  double sum = 0;  // reward units
};

}  // namespace bandana::server

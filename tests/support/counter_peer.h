// What tests may see of a clipped increment.
#pragma once

#include <cstdint>
#include <vector>

#include "common/mechanisms/counters/increment.h"

namespace bandana {

struct ClippedIncrementPeer {
  static const std::vector<std::int64_t>& Values(const ClippedIncrement& increment) {
    return increment.values_;
  }
};

}  // namespace bandana

// The parts of a clipped increment that tests may see.
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

// The second moment of an accepted direction along the cap's axis.
#pragma once

#include "common/mechanisms/cap_design.h"

namespace bandana::testing {

// E<u, v>^2 = ((n - 1) g m + 1) / n, exactly: integration by parts.
inline double SecondMoment(const CapDesign& cap) {
  return ((cap.n - 1) * cap.threshold * cap.mean + 1) / cap.n;
}

}  // namespace bandana::testing

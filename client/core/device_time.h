// The device's time as it is kept beyond the process.
#pragma once

#include "absl/time/time.h"

namespace bandana::device {

// Clocks of servers, backends and devices differ by less.
inline constexpr absl::Duration kClockSkew = absl::Hours(1);

struct DeviceTime {
  absl::Time latest = absl::InfinitePast();
  absl::Duration ahead;  // of the wall clock
};

}  // namespace bandana::device

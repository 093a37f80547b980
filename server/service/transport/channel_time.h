// Durations as gRPC's channel arguments take them.
#pragma once

#include "absl/time/time.h"

namespace bandana::server {

inline int Millis(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

}  // namespace bandana::server

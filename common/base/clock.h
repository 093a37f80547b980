// Time as an argument. Production passes SystemClock(); tests pass tests/support/fake_clock.h.
#pragma once

#include "absl/time/time.h"

namespace bandana {

class Clock {
 public:
  virtual ~Clock() = default;
  // Wall-clock time. Threads: safe.
  virtual absl::Time Now() const = 0;
};

// The machine's clock, never destroyed.
const Clock& SystemClock();

}  // namespace bandana

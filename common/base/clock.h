// Time as an argument. Production passes SystemClock(); tests pass tests/support/fake_clock.h.
#pragma once

#include "absl/time/time.h"

namespace bandana {

class Clock {
 public:
  virtual ~Clock() = default;
  // Wall-clock time. It may jump, in both directions. Threads: safe.
  virtual absl::Time Now() const = 0;
  // Runs evenly, also while the machine sleeps, from a start of its own: for durations inside a
  // process. Of no use beside Now(). Threads: safe.
  virtual absl::Time Steady() const { return Now(); }
  // How far the machine's wall clock is ahead of Now(), where the clock does not believe it.
  virtual absl::Duration Disbelieved() const { return absl::ZeroDuration(); }
  // An operator says that the machine's wall clock is right: Now() is its time from now on.
  virtual void Believe() const {}
};

// The machine's clock, never destroyed.
const Clock& SystemClock();

// SystemClock().Steady(): for deadlines and durations where no clock is given.
absl::Time SteadyNow();

}  // namespace bandana

// Runs closures later.
#pragma once

#include "absl/time/time.h"
#include "client/core/callback.h"

namespace bandana::device {

// By a clock that nobody sets.
class Timers {
 public:
  using Task = Callback<void()>;

  virtual ~Timers() = default;
  // Since some start.
  virtual absl::Duration Elapsed() const = 0;
  // Runs `task` after `delay`; tasks must be short. False after the host has stopped: the task is
  // dropped.
  virtual bool RunAfter(absl::Duration delay, Task task) = 0;
};

}  // namespace bandana::device

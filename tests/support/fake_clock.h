// A clock that moves only when told to.
#pragma once

#include <mutex>

#include "absl/time/time.h"
#include "common/base/clock.h"

namespace bandana::testing {

// Threads: safe.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(absl::Time start = absl::FromUnixSeconds(1'700'000'000)) : now_(start) {}

  absl::Time Now() const override {
    const std::lock_guard lock(mutex_);
    return now_ + jumped_;
  }
  absl::Time Steady() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  void Advance(absl::Duration by) {
    const std::lock_guard lock(mutex_);
    now_ += by;
  }
  // Both clocks; may go backwards.
  void Set(absl::Time now) {
    const std::lock_guard lock(mutex_);
    now_ = now - jumped_;
  }
  // The wall clock alone, as a machine's may.
  void Jump(absl::Duration by) {
    const std::lock_guard lock(mutex_);
    jumped_ += by;
  }

 private:
  mutable std::mutex mutex_;
  absl::Time now_;
  absl::Duration jumped_;  // of the wall clock
};

}  // namespace bandana::testing

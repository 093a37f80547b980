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
    return now_;
  }
  void Advance(absl::Duration by) {
    const std::lock_guard lock(mutex_);
    now_ += by;
  }
  // May go backwards, as a real wall clock may.
  void Set(absl::Time now) {
    const std::lock_guard lock(mutex_);
    now_ = now;
  }

 private:
  mutable std::mutex mutex_;
  absl::Time now_;
};

}  // namespace bandana::testing

// A wall clock that is compared with a steady one, so that a jump of it does no harm.
#pragma once

#include <mutex>

#include "absl/time/time.h"
#include "common/base/clock.h"

namespace bandana {

// Now() is the wall clock's time as it was first read, and goes on with the steady clock. It
// follows the wall clock by at most a second in ten. A wall clock that is further away has jumped,
// and is believed once it has kept its new distance for kBelievedAfter, or when Believe is called:
// Now() then jumps, in either direction. Threads: safe.
class CheckedClock final : public Clock {
 public:
  // Long enough for a clock that is wrong for a moment, and for the service that mends it.
  static constexpr absl::Duration kBelievedAfter = absl::Minutes(10);

  // `clock` must outlive it.
  explicit CheckedClock(const Clock& clock);

  absl::Time Now() const override;
  absl::Time Steady() const override { return clock_.Steady(); }
  absl::Duration Disbelieved() const override;
  void Believe() const override;

 private:
  // Both clocks, and how far the wall clock is ahead of the time that passed since.
  struct Reading {
    absl::Time passed;
    absl::Duration ahead;
  };
  // Looks at both clocks, and believes what is to be believed. Requires mutex_.
  Reading Read() const;

  const Clock& clock_;
  mutable std::mutex mutex_;
  mutable absl::Time wall_;  // at steady_
  mutable absl::Time steady_;
  mutable absl::Duration jumped_ = absl::ZeroDuration();  // how far the wall clock is ahead
  mutable absl::Time jumped_at_;                          // by the steady clock
};

}  // namespace bandana

// The time that a model goes by.
#pragma once

#include <mutex>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/model/state/model_state.h"

namespace bandana::server {

// Time in a log never goes back, or a window could open again and an id be forgotten that counts.
// So the model's time never does, whatever the wall clock does:
// 1. Now() is never before the newest time in the log, nor before what it was.
// 2. Where the wall clock is behind that, Now() runs on as time passes, and stays ahead of the
// clock
//    by ahead(), which the log keeps (ClockRecord). Where the clock comes closer, ahead() shrinks.
// 3. Where the wall clock is more than `ahead_max` ahead, Now() runs on as time passes, until
//    Believe is called or the clock comes back.
// Before Begin it is the clock's. Threads: safe.
class LogClock final : public Clock {
 public:
  // `clock` must outlive it.
  LogClock(const Clock& clock, absl::Duration ahead_max) : clock_(clock), ahead_max_(ahead_max) {}

  // The log was recovered. `newest`: time that it holds, UnixEpoch where it holds none. `ahead`: as
  // it says.
  void Begin(absl::Time newest, absl::Duration ahead);
  // The log holds this time now.
  void Reach(absl::Time newest);

  absl::Time Now() const override;
  absl::Time Steady() const override { return clock_.Steady(); }
  // Zero: the wall clock is believed.
  absl::Duration Disbelieved() const override;
  // Also the clock beneath.
  void Believe() const override;
  // How far Now() is ahead of the wall clock; zero where it is not.
  absl::Duration ahead() const;
  absl::Duration ahead_max() const { return ahead_max_; }

 private:
  absl::Time Read() const;  // requires mutex_

  const Clock& clock_;
  const absl::Duration ahead_max_;
  mutable std::mutex mutex_;
  bool begun_ = false;
  mutable absl::Time now_;     // at steady_
  mutable absl::Time steady_;  // by the steady clock
  mutable absl::Duration ahead_;
};

// The newest time that a recovered state says: of its time entries, fading and deletions.
absl::Time NewestTimeOf(const ModelState& state);

// Whether two values of ahead() are as good as one.
bool SameAhead(absl::Duration one, absl::Duration other);

}  // namespace bandana::server

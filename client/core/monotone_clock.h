// The device's time: the wall clock, but it never goes back.
#pragma once

#include <algorithm>

#include "absl/time/time.h"
#include "client/core/device_time.h"
#include "common/base/clock.h"

namespace bandana::device {

// A wall clock that was set back costs no time that has passed: this clock stands still once, and
// goes on from there. So a window that was over stays over, and no report gets younger. A wall
// clock that is set forward carries it along, since a device that slept looks the same. Its times
// are for durations on the device alone and never leave it.
class MonotoneClock final : public Clock {
 public:
  // `wall` outlives it. `before`: of an earlier process.
  MonotoneClock(const Clock& wall, const DeviceTime& before) : wall_(wall), state_(before) {
    went_back_ = wall_.Now() + state_.ahead < state_.latest;
  }

  absl::Time Now() const override {
    const absl::Time wall = wall_.Now();
    state_.latest = std::max(state_.latest, wall + state_.ahead);
    state_.ahead = state_.latest - wall;
    return state_.latest;
  }
  // As Now, and leaves no trace: for moments that must not be seen.
  absl::Time Peek() const { return std::max(state_.latest, wall_.Now() + state_.ahead); }
  DeviceTime state() const { return state_; }
  // Whether the wall clock was set back while no process ran: nobody knows for how long.
  bool went_back() const { return went_back_; }

 private:
  const Clock& wall_;
  mutable DeviceTime state_;
  bool went_back_ = false;
};

}  // namespace bandana::device

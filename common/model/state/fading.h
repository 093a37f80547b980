// How far the events of a model that forgets have faded, and when the next step is
// (docs/design/forgetting.md).
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace bandana {

// Steps lie on a grid of absolute time: kFadingSteps of them per half-life. A function of the
// fading entries of the log alone. Not thread-safe.
class Fading {
 public:
  Fading() = default;
  // From a checkpoint. Requires half_life >= 0, and 0 or at least kFadingSteps nanoseconds.
  Fading(absl::Time time, absl::Duration half_life, std::uint64_t steps)
      : time_(time), half_life_(half_life), steps_(steps) {}

  // Whether there was an entry: a model that never forgot has none.
  bool begun() const { return half_life_ > absl::ZeroDuration() || time_ > absl::UnixEpoch(); }
  absl::Time time() const { return time_; }                // of the newest entry
  absl::Duration half_life() const { return half_life_; }  // since then; zero: nothing fades
  std::uint64_t steps() const { return steps_; }           // so far, of whatever half-lives

  // An entry: steps up to `now` by the half-life so far, and the half-life from now on. A clock
  // that was set back makes no step.
  void Apply(absl::Time now, absl::Duration half_life);
  // When the next entry is to be written for a model of this half-life: at once where it is another
  // one, never where nothing fades.
  absl::Time NextEntry(absl::Duration half_life) const;

 private:
  absl::Time time_ = absl::UnixEpoch();
  absl::Duration half_life_ = absl::ZeroDuration();
  std::uint64_t steps_ = 0;
};

}  // namespace bandana

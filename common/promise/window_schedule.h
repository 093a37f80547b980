// When a decision of a reward window closes, and when its report leaves the device: public times
// that no reaction moves. Device and server read them here.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace bandana {

// Between close and leave lies at least so much, in which a last reaction becomes durable.
inline constexpr absl::Duration kWindowGuard = absl::Milliseconds(50);
// The time that a report may take to arrive when it leaves in time: the way there and one retry.
inline constexpr absl::Duration kWindowRetry = absl::Seconds(10);
inline constexpr absl::Duration kGraceMax = absl::Hours(1);

struct WindowTimes {
  absl::Time close;  // reactions count until then
  absl::Time leave;  // the report is drawn and sent then
};
// leave = close + guard + jitter, jitter uniform in [0, WindowJitterMax(window)) by the random
// word.
WindowTimes ScheduleWindow(absl::Time decided, absl::Duration window, std::uint64_t random);

// min(window / 8, 60 s).
absl::Duration WindowJitterMax(absl::Duration window);
// Guard, jitter and retry: for how long after a close a server waits for the report unless the
// model's configuration says otherwise.
absl::Duration DefaultGrace(absl::Duration window);

}  // namespace bandana

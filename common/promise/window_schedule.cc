#include "common/promise/window_schedule.h"

#include <algorithm>
#include <cmath>

namespace bandana {

absl::Duration WindowJitterMax(absl::Duration window) {
  return std::min(window / 8, absl::Seconds(60));
}

absl::Duration DefaultGrace(absl::Duration window) {
  return kWindowGuard + WindowJitterMax(window) + kWindowRetry;
}

WindowTimes ScheduleWindow(absl::Time decided, absl::Duration window, std::uint64_t random) {
  const double unit = std::ldexp(static_cast<double>(random >> 11), -53);
  const absl::Time close = decided + window;
  return {.close = close, .leave = close + kWindowGuard + WindowJitterMax(window) * unit};
}

}  // namespace bandana

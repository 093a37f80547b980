#include "server/service/access/rate_limit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bandana::server {

RateLimit::RateLimit(double calls_per_second, std::uint32_t burst)
    : interval_ns_(calls_per_second > 0
                       ? std::max<std::int64_t>(1, std::llround(1e9 / calls_per_second))
                       : 0),
      slack_ns_(interval_ns_ * (std::max<std::int64_t>(1, burst) - 1)),
      full_at_ns_(std::numeric_limits<std::int64_t>::min()) {}

absl::Duration RateLimit::Take(absl::Time now) {
  if (interval_ns_ == 0) return absl::ZeroDuration();
  const std::int64_t now_ns = absl::ToUnixNanos(now);
  const std::int64_t latest = now_ns + slack_ns_ + interval_ns_;  // an empty bucket
  std::int64_t full_at = full_at_ns_.load(std::memory_order_relaxed);
  for (;;) {
    const std::int64_t held = std::clamp(full_at, now_ns, latest);
    const std::int64_t wait = held - now_ns - slack_ns_;
    const std::int64_t next = wait > 0 ? held : held + interval_ns_;
    if (next == full_at ||
        full_at_ns_.compare_exchange_weak(full_at, next, std::memory_order_relaxed)) {
      return wait > 0 ? absl::Nanoseconds(wait) : absl::ZeroDuration();
    }
  }
}

}  // namespace bandana::server

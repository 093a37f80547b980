// A token bucket.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "server/service/access/rules.h"

namespace bandana::server {

// Starts full. Threads: safe, without a lock: the bucket is one number, the time at which it will
// be full (the generic cell rate algorithm, ITU-T I.371 annex A).
class RateLimit {
 public:
  // `calls_per_second` > 0, or 0 for no limit; burst >= 1.
  RateLimit(double calls_per_second, std::uint32_t burst);

  // Zero: the call may go on, and was counted. Else the time after which one may. A clock that was
  // set back empties the bucket, no more.
  absl::Duration Take(absl::Time now);

 private:
  const std::int64_t interval_ns_;  // between calls; 0 = no limit
  const std::int64_t slack_ns_;     // (burst - 1) intervals
  std::atomic<std::int64_t> full_at_ns_;
};

// A caller's rate of calls, and its rate of reports beside that: two buckets of one size, so that
// the one says nothing of what the other has let through (RpcRule::own_rate).
class CallRates {
 public:
  CallRates(double calls_per_second, std::uint32_t burst)
      : calls_(calls_per_second, burst), apart_(calls_per_second, burst) {}
  absl::Duration Take(const RpcRule& rule, absl::Time now) {
    return rule.own_rate ? apart_.Take(now) : calls_.Take(now);
  }

 private:
  RateLimit calls_;
  RateLimit apart_;
};

}  // namespace bandana::server

// Latencies, counted in log-linear buckets (as HdrHistogram's).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace bandana {

// 128 buckets a power of two: a quantile is off by less than 0.4 % (half a bucket). Durations below
// 0 count as 0, beyond 2^40 ns (18 minutes) as that. Memory: 35 KiB. Threads: not thread-safe.
class LatencyHistogram {
 public:
  LatencyHistogram();

  void Record(absl::Duration duration);

  std::uint64_t count() const { return count_; }
  // Exact.
  absl::Duration max() const { return absl::Nanoseconds(max_); }
  // The middle of the bucket that holds the ceil(q * count)-th smallest duration, at most max(); 0
  // when empty. Requires 0 <= q <= 1.
  absl::Duration Quantile(double q) const;

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::int64_t max_ = 0;
};

}  // namespace bandana

// How fast a checkpoint is written while its model learns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/time/time.h"

namespace bandana::server {

// Leaves the disk to the log, whose syncs wait for whatever else is on its way there, and the
// processors to what is learnt: beside it a checkpoint is encoded and written at kBytesPerSecond at
// most. Not thread-safe.
class CheckpointPace {
 public:
  static constexpr double kBytesPerSecond = 100 << 20;
  // How long after the log's last entry it counts as resting.
  static constexpr absl::Duration kRests = absl::Seconds(1);

  // How long to wait after `bytes` more are written, with the log at `sequence`.
  absl::Duration WaitAfter(std::size_t bytes, std::uint64_t sequence, absl::Time now) {
    if (sequence != sequence_) {
      grew_ = sequence_.has_value() ? now : grew_;
      sequence_ = sequence;
    }
    if (now - grew_ >= kRests) return absl::ZeroDuration();
    // No credit for what took longer.
    due_ = std::max(due_, now) + absl::Seconds(static_cast<double>(bytes) / kBytesPerSecond);
    return due_ - now;
  }

 private:
  std::optional<std::uint64_t> sequence_;  // of the log, as it was seen last
  absl::Time grew_ = absl::InfinitePast();
  absl::Time due_ = absl::InfinitePast();
};

}  // namespace bandana::server

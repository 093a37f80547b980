// Entries of a log that servers share stay for a while after they could go: a server that was away
// for a moment finds in them what came of the decisions that it answered.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "absl/time/time.h"

namespace bandana::server {

inline constexpr absl::Duration kEntriesStay = absl::Minutes(15);

// Not thread-safe.
class TrimDelay {
 public:
  // At `now` of a steady clock the log could be trimmed through `sequence`, which never gets less.
  // Returns through which it may be; 0: through none.
  std::uint64_t Due(absl::Time now, std::uint64_t sequence) {
    waiting_.emplace_back(now + kEntriesStay, sequence);
    while (!waiting_.empty() && waiting_.front().first <= now) {
      due_ = waiting_.front().second;
      waiting_.pop_front();
    }
    return due_;
  }

 private:
  std::deque<std::pair<absl::Time, std::uint64_t>> waiting_;
  std::uint64_t due_ = 0;
};

}  // namespace bandana::server

// How many users a caller may make known, per model and day.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/sha256.h"

namespace bandana::server {

// A bucket per model: it starts full with a day's users, and fills again evenly over a day. Nothing
// is given back for a user who does not become known after all. Threads: safe.
class NewUserQuota {
 public:
  // `per_day` >= 1. `clock` must outlive it.
  NewUserQuota(std::uint64_t per_day, const Clock& clock) : per_day_(per_day), clock_(clock) {}

  // Whether a user whom the model does not know may become known to it, who is counted then. One
  // who was counted in the last ten seconds is not known yet because the log is still being
  // written: always, and not counted again.
  bool Take(std::string_view model, std::string_view user);

 private:
  struct Counted {
    Sha256Digest user{};
    absl::Time at;
  };
  struct Bucket {
    double users = 0;            // that may become known at once
    absl::Time at;               // as of
    std::deque<Counted> lately;  // the newest last
  };
  const std::uint64_t per_day_;
  const Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, Bucket, std::less<>> buckets_;
};

// The quota of the call that this thread works on; null: none. Handlers know no callers. A handler
// that answers later asks before it returns.
class CallQuota {
 public:
  explicit CallQuota(NewUserQuota* quota) : before_(current_) { current_ = quota; }
  ~CallQuota() { current_ = before_; }
  CallQuota(const CallQuota&) = delete;
  CallQuota& operator=(const CallQuota&) = delete;

  static NewUserQuota* current() { return current_; }

 private:
  static thread_local NewUserQuota* current_;
  NewUserQuota* const before_;
};

}  // namespace bandana::server

#include "server/models/log_clock.h"

#include <algorithm>

namespace bandana::server {
namespace {

// A wall clock that is this near is followed.
constexpr absl::Duration kNear = absl::Seconds(1);

}  // namespace

bool SameAhead(absl::Duration one, absl::Duration other) {
  return absl::AbsDuration(one - other) <= kNear;
}

void LogClock::Begin(absl::Time newest, absl::Duration ahead) {
  const std::lock_guard lock(mutex_);
  const absl::Time wall = clock_.Now();
  begun_ = true;
  steady_ = clock_.Steady();
  now_ = newest;
  ahead_ = absl::ZeroDuration();
  const auto follows = [&](absl::Time time) {
    return newest == absl::UnixEpoch() || (time >= newest && time - newest <= ahead_max_);
  };
  if (follows(wall + ahead)) {
    now_ = wall + ahead;
    ahead_ = ahead;
  } else if (follows(wall)) {
    now_ = wall;
  } else if (wall < newest) {
    ahead_ = newest - wall;
  }
}

void LogClock::Reach(absl::Time newest) {
  const std::lock_guard lock(mutex_);
  if (begun_ && newest > Read()) now_ = newest;
}

absl::Time LogClock::Read() const {
  const absl::Time wall = clock_.Now();
  if (!begun_) return wall;
  const absl::Time steady = clock_.Steady();
  const absl::Time passed = now_ + std::max(steady - steady_, absl::ZeroDuration());
  steady_ = steady;
  if (absl::AbsDuration(wall + ahead_ - passed) <= kNear) {
    now_ = std::max(now_, wall + ahead_);
    return now_;
  }
  now_ = passed;
  ahead_ = std::max(passed - wall, absl::ZeroDuration());
  if (wall > passed && wall - passed <= ahead_max_) now_ = wall;
  return now_;
}

absl::Time LogClock::Now() const {
  const std::lock_guard lock(mutex_);
  return Read();
}

absl::Duration LogClock::Disbelieved() const {
  if (const absl::Duration jumped = clock_.Disbelieved(); jumped != absl::ZeroDuration()) {
    return jumped;
  }
  const std::lock_guard lock(mutex_);
  const absl::Duration far = clock_.Now() - Read();
  return far > kNear ? far : absl::ZeroDuration();
}

void LogClock::Believe() const {
  clock_.Believe();
  const std::lock_guard lock(mutex_);
  now_ = std::max(Read(), clock_.Now());
}

absl::Duration LogClock::ahead() const {
  const std::lock_guard lock(mutex_);
  Read();
  return begun_ ? ahead_ : absl::ZeroDuration();
}

absl::Time NewestTimeOf(const ModelState& state) {
  absl::Time newest = state.newest_time();
  for (const auto& [hash, entry] : state.deleted.all()) newest = std::max(newest, entry.deleted);
  return newest;
}

}  // namespace bandana::server

#include "common/base/checked_clock.h"

#include <algorithm>

namespace bandana {
namespace {

// Follows adjustments of the wall clock up to kFollowed in each kFollowInterval.
constexpr absl::Duration kFollowed = absl::Seconds(1);
constexpr absl::Duration kFollowInterval = absl::Seconds(10);

}  // namespace

CheckedClock::CheckedClock(const Clock& clock)
    : clock_(clock), wall_(clock.Now()), steady_(clock.Steady()) {}

CheckedClock::Reading CheckedClock::Read() const {
  const absl::Time steady = clock_.Steady();
  const absl::Time wall = clock_.Now();
  const absl::Time passed = wall_ + std::max(steady - steady_, absl::ZeroDuration());
  const absl::Duration ahead = wall - passed;
  const auto believe = [&]() -> Reading {
    wall_ = wall;
    steady_ = steady;
    jumped_ = absl::ZeroDuration();
    return {wall, absl::ZeroDuration()};
  };
  if (absl::AbsDuration(ahead) <= kFollowed) {
    jumped_ = absl::ZeroDuration();
    return steady - steady_ < kFollowInterval ? Reading{passed, absl::ZeroDuration()} : believe();
  }
  if (jumped_ == absl::ZeroDuration() || absl::AbsDuration(ahead - jumped_) > kFollowed) {
    jumped_ = ahead;
    jumped_at_ = steady;
  }
  return steady - jumped_at_ < kBelievedAfter ? Reading{passed, ahead} : believe();
}

absl::Time CheckedClock::Now() const {
  const std::lock_guard lock(mutex_);
  return Read().passed;
}

absl::Duration CheckedClock::Disbelieved() const {
  const std::lock_guard lock(mutex_);
  return Read().ahead;
}

void CheckedClock::Believe() const {
  const std::lock_guard lock(mutex_);
  wall_ = clock_.Now();
  steady_ = clock_.Steady();
  jumped_ = absl::ZeroDuration();
}

}  // namespace bandana

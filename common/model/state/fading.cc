#include "common/model/state/fading.h"

#include <algorithm>

#include "common/bandits/fading.h"

namespace bandana {
namespace {

// Whole nanoseconds, so that steps are counted in integers.
std::int64_t StepNanos(absl::Duration half_life) {
  return absl::ToInt64Nanoseconds(half_life) / kFadingSteps;
}

std::int64_t Place(absl::Time time, absl::Duration half_life) {
  return absl::ToUnixNanos(time) / StepNanos(half_life);
}

}  // namespace

// PROOF: forgetting begin
void Fading::Apply(absl::Time now, absl::Duration half_life) {
  const absl::Time later = std::max(time_, now);
  if (half_life_ > absl::ZeroDuration()) {
    steps_ += static_cast<std::uint64_t>(Place(later, half_life_) - Place(time_, half_life_));
  }
  time_ = later;
  half_life_ = half_life;
}

absl::Time Fading::NextEntry(absl::Duration half_life) const {
  if (half_life != half_life_) return absl::InfinitePast();
  if (half_life == absl::ZeroDuration()) return absl::InfiniteFuture();
  return absl::UnixEpoch() +
         absl::Nanoseconds(StepNanos(half_life)) * (Place(time_, half_life) + 1);
}
// PROOF: forgetting end

}  // namespace bandana

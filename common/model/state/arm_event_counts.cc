#include "common/model/state/arm_event_counts.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace bandana {

void ArmEventCounts::Add(std::uint32_t arm) {
  const std::lock_guard lock(mutex_);
  std::uint32_t& events = events_[arm];
  events = std::min(events + 1, enough_);
}

void ArmEventCounts::Forget(std::span<const EffectKey> keys) {
  const std::lock_guard lock(mutex_);
  for (const EffectKey key : keys) {
    if (const std::optional<std::uint32_t> arm = ArmIdOf(key)) events_.erase(*arm);
  }
}

void ArmEventCounts::FindCold(std::span<const EffectKey> keys, std::size_t stride,
                              std::vector<std::uint8_t>& cold) const {
  cold.clear();
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < keys.size(); i += stride) {
    const std::optional<std::uint32_t> arm = ArmIdOf(keys[i]);
    const auto known = arm ? events_.find(*arm) : events_.end();
    const bool few = arm && (known == events_.end() || known->second < enough_);
    cold.push_back(few ? 1 : 0);
  }
}

void ArmEventCounts::Encode(ByteWriter& out) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sorted(events_.begin(), events_.end());
  std::ranges::sort(sorted);
  out.U64(sorted.size());
  for (const auto& [arm, events] : sorted) {
    out.U32(arm);
    out.U32(events);
  }
}

bool ArmEventCounts::Decode(ByteReader& in) {
  const std::lock_guard lock(mutex_);
  events_.clear();
  const std::uint64_t count = in.U64();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    const std::uint32_t arm = in.U32();
    events_[arm] = std::min(in.U32(), enough_);
  }
  return in.ok();
}

}  // namespace bandana

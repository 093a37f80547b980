#include "server/models/catalogue/arm_names.h"

#include <mutex>

namespace bandana::server {

std::uint32_t ArmNames::Add(std::string_view text) {
  std::lock_guard lock(mutex_);
  const auto known = numbers_.find(text);
  if (known != numbers_.end()) return known->second;
  const std::uint32_t number = size();
  const std::size_t block = PlaceOf(number).block;
  if (blocks_[block] == nullptr) {
    blocks_[block] = std::make_unique<Name[]>(std::size_t{1} << (block + kFirstBits));
  }
  Name& name = At(number);
  name.text = text;
  if (!group_.empty()) {
    name.key = GroupKey(group_, text);
    keys_.emplace(name.key, number);
  }
  numbers_.emplace(name.text, number);
  size_.store(number + 1, std::memory_order_relaxed);
  return number;
}

std::uint32_t ArmNames::Find(std::string_view text) const {
  std::shared_lock lock(mutex_);
  const auto known = numbers_.find(text);
  return known == numbers_.end() ? kNone : known->second;
}

std::uint32_t ArmNames::FindKey(EffectKey key) const {
  std::shared_lock lock(mutex_);
  const auto known = keys_.find(key);
  return known == keys_.end() ? kNone : known->second;
}

void ArmNames::SetBelief(std::uint32_t number, float mean, float variance) const {
  At(number).mean.store(mean, std::memory_order_relaxed);
  float known = variance_max();
  while (variance > known && !variance_max_.compare_exchange_weak(known, variance)) {
  }
}

}  // namespace bandana::server

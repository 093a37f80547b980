#include "server/models/users/group_values.h"

#include <utility>

#include "common/base/check.h"
#include "common/base/limits.h"

namespace bandana::server {

GroupValues::GroupValues(std::string group)
    : group_(std::move(group)),
      keys_(std::make_unique_for_overwrite<EffectKey[]>(std::size_t{kGroupValuesMax} + 1)),
      values_(1) {
  keys_[kNone] = kAbsent;
}

std::uint32_t GroupValues::Find(std::string_view text) const {
  const auto known = numbers_.find(text);
  return known == numbers_.end() ? kNone : known->second;
}

std::string GroupValues::TextOf(EffectKey key) const {
  for (const auto& [text, number] : numbers_) {
    if (keys_[number] == key) return std::string(text);
  }
  return "";
}

void GroupValues::AddKeys(absl::flat_hash_set<EffectKey>& out) const {
  for (const auto& [text, number] : numbers_) out.insert(keys_[number]);
}

std::uint32_t GroupValues::Join(std::string_view text) {
  if (text.empty()) return kNone;
  std::uint32_t number = Find(text);
  if (number == kNone) {
    if (free_.empty()) {
      number = static_cast<std::uint32_t>(values_.size());
      BANDANA_CHECK(number <= kGroupValuesMax);
      values_.emplace_back();
    } else {
      number = free_.back();
      free_.pop_back();
    }
    values_[number].text = text;
    keys_[number] = GroupKey(group_, text);
    numbers_.emplace(values_[number].text, number);
    size_.fetch_add(1, std::memory_order_relaxed);
  }
  ++values_[number].users;
  return number;
}

void GroupValues::Leave(std::uint32_t number) {
  if (number == kNone) return;
  Value& value = values_[number];
  if (--value.users > 0) return;
  numbers_.erase(value.text);
  value.text.clear();
  free_.push_back(number);
  size_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace bandana::server

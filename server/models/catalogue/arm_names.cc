#include "server/models/catalogue/arm_names.h"

#include <mutex>

namespace bandana::server {

std::uint32_t ArmNames::Add(std::string_view text) {
  std::lock_guard lock(mutex_);
  const auto known = numbers_.find(text);
  if (known != numbers_.end()) return known->second;
  const std::uint32_t number = size();
  const std::uint32_t from_one = number + (1u << kFirstBits);
  const int block = std::bit_width(from_one) - 1 - kFirstBits;
  if (blocks_[block] == nullptr) {
    blocks_[block] = std::make_unique<Name[]>(std::size_t{1} << (block + kFirstBits));
  }
  Name& name = blocks_[block][from_one - (1u << (block + kFirstBits))];
  name.text = text;
  if (!group_.empty()) name.key = GroupKey(group_, text);
  numbers_.emplace(name.text, number);
  size_.store(number + 1, std::memory_order_relaxed);
  return number;
}

std::uint32_t ArmNames::Find(std::string_view text) const {
  std::shared_lock lock(mutex_);
  const auto known = numbers_.find(text);
  return known == numbers_.end() ? kNone : known->second;
}

}  // namespace bandana::server

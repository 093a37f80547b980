#include "server/models/users/known_users.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace bandana::server {

KnownUsers::KnownUsers(const std::vector<std::string>& groups) {
  for (const std::string& group : groups) values_.emplace_back(group);
}

bool KnownUsers::Parts(EffectKey user, std::span<EffectKey> parts) const {
  const Shard& shard = ShardOf(user);
  // Until the keys are read: then nobody can have given up the values.
  const std::shared_lock lock(shard.mutex);
  const auto row = shard.rows.find(user);
  if (row == shard.rows.end()) {
    std::ranges::fill(parts, kAbsent);
    return false;
  }
  const std::uint32_t* numbers = shard.numbers.data() + std::size_t{row->second} * groups();
  for (std::size_t g = 0; g < groups(); ++g) parts[g] = values_[g].key(numbers[g]);
  return true;
}

bool KnownUsers::Contains(EffectKey user) const { return ShardOf(user).rows.contains(user); }

std::span<const std::uint32_t> KnownUsers::Numbers(EffectKey user) const {
  const Shard& shard = ShardOf(user);
  const auto row = shard.rows.find(user);
  if (row == shard.rows.end()) return {};
  return std::span(shard.numbers).subspan(std::size_t{row->second} * groups(), groups());
}

void KnownUsers::Set(EffectKey user, std::span<const std::string_view> values) {
  next_.resize(groups());
  for (std::size_t g = 0; g < groups(); ++g) next_[g] = values_[g].Join(values[g]);
  Shard& shard = ShardOf(user);
  {
    const std::lock_guard lock(shard.mutex);
    const auto [row, added] =
        shard.rows.try_emplace(user, static_cast<std::uint32_t>(shard.rows.size()));
    if (added) {
      const std::size_t size = shard.numbers.size() + groups();
      // By an eighth, not by two: half of the memory would be waste.
      if (size > shard.numbers.capacity()) shard.numbers.reserve(size + size / 8);
      shard.numbers.resize(size, GroupValues::kNone);
      size_.fetch_add(1, std::memory_order_relaxed);
    }
    const auto first = static_cast<std::ptrdiff_t>(std::size_t{row->second} * groups());
    std::swap_ranges(next_.begin(), next_.end(), shard.numbers.begin() + first);
  }
  for (std::size_t g = 0; g < groups(); ++g) values_[g].Leave(next_[g]);
}

}  // namespace bandana::server

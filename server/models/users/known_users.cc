#include "server/models/users/known_users.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

namespace bandana::server {

EffectKey KnownUsers::Rows::key(std::uint32_t row) const {
  static_assert(sizeof(EffectKey) == kKeyWords * sizeof(std::uint32_t));
  EffectKey key = 0;
  std::memcpy(&key, words.data() + row * stride(), sizeof key);
  return key;
}

void KnownUsers::Rows::Add(EffectKey key) {
  const std::size_t first = words.size();
  const std::size_t size = first + stride();
  // By an eighth, not by two: half of the memory would be waste.
  if (size > words.capacity()) words.reserve(size + size / 8);
  words.resize(size, GroupValues::kNone);
  std::memcpy(words.data() + first, &key, sizeof key);
}

void KnownUsers::Rows::MoveLastTo(std::uint32_t row) {
  const auto last = words.end() - static_cast<std::ptrdiff_t>(stride());
  const auto to = words.begin() + static_cast<std::ptrdiff_t>(row * stride());
  if (to != last) std::copy(last, words.end(), to);
  words.erase(last, words.end());
}

KnownUsers::KnownUsers(const std::vector<std::string>& groups) {
  for (const std::string& group : groups) values_.emplace_back(group);
  for (Shard& shard : shards_) shard.rows.groups = groups.size();
}

bool KnownUsers::Parts(EffectKey user, std::span<EffectKey> parts) const {
  const Shard& shard = ShardOf(user);
  // Until the keys are read: then nobody can have given up the values.
  const std::shared_lock lock(shard.mutex);
  const std::span<const std::uint32_t> numbers = Numbers(user);
  for (std::size_t g = 0; g < numbers.size(); ++g) parts[g] = values_[g].key(numbers[g]);
  if (numbers.empty()) std::ranges::fill(parts, kAbsent);
  return !numbers.empty();
}

std::span<const std::uint32_t> KnownUsers::Numbers(EffectKey user) const {
  const Shard& shard = ShardOf(user);
  const auto row = shard.index.find(user);
  if (row == shard.index.end()) return {};
  return shard.rows.numbers(*row);
}

void KnownUsers::Set(EffectKey user, std::span<const std::string_view> values) {
  next_.resize(groups());
  for (std::size_t g = 0; g < groups(); ++g) next_[g] = values_[g].Join(values[g]);
  Shard& shard = ShardOf(user);
  {
    const std::lock_guard lock(shard.mutex);
    auto row = shard.index.find(user);
    if (row == shard.index.end()) {
      shard.rows.Add(user);
      row = shard.index.insert(shard.rows.size() - 1).first;
      size_.fetch_add(1, std::memory_order_relaxed);
    }
    const auto numbers = shard.rows.numbers(*row);
    const auto first = shard.rows.words.begin() + (numbers.data() - shard.rows.words.data());
    std::swap_ranges(next_.begin(), next_.end(), first);
  }
  for (std::size_t g = 0; g < groups(); ++g) values_[g].Leave(next_[g]);
}

bool KnownUsers::Remove(EffectKey user) {
  Shard& shard = ShardOf(user);
  {
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.index.find(user);
    if (found == shard.index.end()) return false;
    const std::uint32_t row = *found;
    const std::uint32_t last = shard.rows.size() - 1;
    const std::span<const std::uint32_t> numbers = shard.rows.numbers(row);
    next_.assign(numbers.begin(), numbers.end());
    shard.index.erase(found);
    if (row != last) shard.index.erase(shard.index.find(shard.rows.key(last)));
    shard.rows.MoveLastTo(row);
    if (row != last) shard.index.insert(row);
    size_.fetch_sub(1, std::memory_order_relaxed);
  }
  for (std::size_t g = 0; g < groups(); ++g) values_[g].Leave(next_[g]);
  return true;
}

}  // namespace bandana::server

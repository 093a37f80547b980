// Who is in which groups, in memory: no ids and no names per user, only a key and numbers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/bandits/effects/effect_key.h"
#include "server/models/users/group_values.h"

namespace bandana::server {

// A million users with 8 groups take some 70 MiB. Threads: one changes at a time; Parts, size and
// values are for any, and Parts waits for no more than the change of one user.
class KnownUsers {
 public:
  // The names of the groups, in the order of the parts.
  explicit KnownUsers(const std::vector<std::string>& groups);

  std::size_t groups() const { return values_.size(); }
  std::size_t size() const { return size_.load(std::memory_order_relaxed); }
  // Values of the group that somebody has.
  std::uint32_t values(std::size_t group) const { return values_[group].size(); }
  // Fills in the keys of the user's groups, kAbsent for none; false, and all absent, for a user who
  // is not known.
  bool Parts(EffectKey user, std::span<EffectKey> parts) const;

  // What follows is for the one who changes.
  bool Contains(EffectKey user) const;
  // The numbers of the user's values by group; empty for a user who is not known.
  std::span<const std::uint32_t> Numbers(EffectKey user) const;
  const GroupValues& ValuesOf(std::size_t group) const { return values_[group]; }
  // Adds or replaces; one value for each group, empty for none.
  void Set(EffectKey user, std::span<const std::string_view> values);

 private:
  static constexpr std::size_t kShards = 256;
  // Users by the highest bits of their keys.
  struct alignas(64) Shard {
    mutable std::shared_mutex mutex;
    absl::flat_hash_map<EffectKey, std::uint32_t> rows;
    std::vector<std::uint32_t> numbers;  // rows x groups
  };
  Shard& ShardOf(EffectKey user) { return shards_[user >> 56]; }
  const Shard& ShardOf(EffectKey user) const { return shards_[user >> 56]; }

  std::deque<GroupValues> values_;  // by group
  std::array<Shard, kShards> shards_;
  std::atomic<std::size_t> size_ = 0;
  std::vector<std::uint32_t> next_;  // of Set
};

}  // namespace bandana::server

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

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "common/ranking/effect_key.h"
#include "server/models/users/group_values.h"

namespace bandana::server {

// A million users with 8 groups take some 60 MiB. Threads: one changes at a time; Parts, size and
// values are for any, and Parts waits for no more than the change of one user.
class KnownUsers {
 public:
  // The names of the groups, at least one, in the order of the parts.
  explicit KnownUsers(const std::vector<std::string>& groups);

  std::size_t groups() const { return values_.size(); }
  std::size_t size() const { return size_.load(std::memory_order_relaxed); }
  // Values of the group that somebody has.
  std::uint32_t values(std::size_t group) const { return values_[group].size(); }
  // Fills in the keys of the user's groups, kAbsent for none; false, and all absent, for a user who
  // is not known.
  bool Parts(EffectKey user, std::span<EffectKey> parts) const;

  // The functions below are for the one who changes.
  bool Contains(EffectKey user) const { return !Numbers(user).empty(); }
  // The numbers of the user's values by group; empty for a user who is not known.
  std::span<const std::uint32_t> Numbers(EffectKey user) const;
  const GroupValues& ValuesOf(std::size_t group) const { return values_[group]; }
  // Adds or replaces; one value for each group, empty for none.
  void Set(EffectKey user, std::span<const std::string_view> values);
  // Whether the user was known.
  bool Remove(EffectKey user);

 private:
  static constexpr std::size_t kKeyWords = 2;
  static constexpr std::size_t kShards = 256;
  // One after another: a user's key in two words, then the numbers of the values by group.
  struct Rows {
    std::size_t groups = 0;
    std::vector<std::uint32_t> words;

    std::size_t stride() const { return kKeyWords + groups; }
    std::uint32_t size() const { return static_cast<std::uint32_t>(words.size() / stride()); }
    EffectKey key(std::uint32_t row) const;
    std::span<const std::uint32_t> numbers(std::uint32_t row) const {
      return std::span(words).subspan(row * stride() + kKeyWords, groups);
    }
    void Add(EffectKey key);
    // The last row's content is in `row` from then on.
    void MoveLastTo(std::uint32_t row);
  };
  // Rows are found by their keys, which stand nowhere else.
  struct RowHash {
    using is_transparent = void;
    const Rows* rows;
    std::size_t operator()(std::uint32_t row) const { return (*this)(rows->key(row)); }
    std::size_t operator()(EffectKey key) const { return absl::Hash<EffectKey>()(key); }
  };
  struct RowEqual {
    using is_transparent = void;
    const Rows* rows;
    bool operator()(std::uint32_t a, std::uint32_t b) const { return a == b; }
    bool operator()(std::uint32_t row, EffectKey key) const { return rows->key(row) == key; }
  };
  // Users by the highest bits of their keys.
  struct alignas(64) Shard {
    mutable std::shared_mutex mutex;
    Rows rows;
    absl::flat_hash_set<std::uint32_t, RowHash, RowEqual> index{0, RowHash{&rows}, RowEqual{&rows}};
  };
  Shard& ShardOf(EffectKey user) { return shards_[user >> 56]; }
  const Shard& ShardOf(EffectKey user) const { return shards_[user >> 56]; }

  std::deque<GroupValues> values_;  // by group
  std::array<Shard, kShards> shards_;
  std::atomic<std::size_t> size_ = 0;
  std::vector<std::uint32_t> next_;  // of Set and Remove
};

}  // namespace bandana::server

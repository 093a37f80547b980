// The values of one group that users are in: each text is kept once and has a number.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "common/ranking/effect_key.h"

namespace bandana::server {

// Numbers of values that nobody has any more are used again. Threads: one changes at a time; any
// may read the key of a number, as long as it knows that somebody has that value, and the size.
class GroupValues {
 public:
  // The number of those who are in no such group; its key is kAbsent.
  static constexpr std::uint32_t kNone = 0;

  explicit GroupValues(std::string group);
  GroupValues(const GroupValues&) = delete;
  GroupValues& operator=(const GroupValues&) = delete;

  EffectKey key(std::uint32_t number) const { return keys_[number]; }
  // Values that somebody has.
  std::uint32_t size() const { return size_.load(std::memory_order_relaxed); }

  // The functions below are for the one who changes. kNone when nobody has this value.
  std::uint32_t Find(std::string_view text) const;
  const std::string& text(std::uint32_t number) const { return values_[number].text; }
  // Adds the keys of values that somebody has.
  void AddKeys(absl::flat_hash_set<EffectKey>& out) const;
  // Who have the value; 0 for kNone.
  std::uint32_t users(std::uint32_t number) const { return values_[number].users; }
  // One more than the greatest number.
  std::uint32_t numbers() const { return static_cast<std::uint32_t>(values_.size()); }
  // Empty when nobody has a value of this key. Goes over all of them.
  std::string TextOf(EffectKey key) const;
  // One user more has the value; an empty text is kNone. A new value requires size() to be below
  // kGroupValuesMax.
  std::uint32_t Join(std::string_view text);
  // One user fewer has it.
  void Leave(std::uint32_t number);

 private:
  struct Value {
    std::string text;
    std::uint32_t users = 0;
  };

  const std::string group_;
  // By number, room for all that there may be: it never moves, and what is not used takes no
  // memory.
  const std::unique_ptr<EffectKey[]> keys_;
  std::deque<Value> values_;                                      // by number
  absl::flat_hash_map<std::string_view, std::uint32_t> numbers_;  // views of the texts
  std::vector<std::uint32_t> free_;
  std::atomic<std::uint32_t> size_ = 0;
};

}  // namespace bandana::server

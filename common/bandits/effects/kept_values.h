// The content of a table at one moment, while it changes.
#pragma once

#include <optional>

#include "absl/container/flat_hash_map.h"

namespace bandana {

// The values that have changed since, as they were; all others are still in the table. Cost while
// it is kept: a lookup per change, and one value per key that changed. Not thread-safe.
template <typename Key, typename Value>
class KeptValues {
 public:
  void Begin() { kept_ = true; }
  void End() {
    kept_ = false;
    was_ = {};
  }
  // The key is about to change; `value` gives an optional of what it has, nothing where it is not
  // in the table.
  template <typename ValueOf>
  void Changing(const Key& key, const ValueOf& value) {
    if (kept_ && !was_.contains(key)) was_.emplace(key, value());
  }
  // nullptr: the key has not changed.
  const std::optional<Value>* Find(const Key& key) const {
    const auto found = was_.find(key);
    return found == was_.end() ? nullptr : &found->second;
  }
  const auto& changed() const { return was_; }

 private:
  bool kept_ = false;
  absl::flat_hash_map<Key, std::optional<Value>> was_;
};

}  // namespace bandana

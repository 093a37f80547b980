// Open windows, as admission and the state both keep them: in the order in which they close.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/model/entries/decision.h"

namespace bandana {

// By their close, then by their decision's log entry. `Window` has the decision's `id`. Not
// thread-safe.
template <typename Window>
class WindowOrder {
 public:
  using Key = std::pair<absl::Time, std::uint64_t>;  // close, place of the decision in the log

  // Opens a window, or replaces that of its decision, which has the key already.
  void Open(const Key& key, Window window) {
    keys_[window.id] = key;
    windows_.insert_or_assign(key, std::move(window));
  }
  // nullptr when there is none with this id.
  Window* Find(const DecisionId& id) {
    const auto key = keys_.find(id);
    return key == keys_.end() ? nullptr : &windows_.at(key->second);
  }
  const Window* Find(const DecisionId& id) const {
    return const_cast<WindowOrder*>(this)->Find(id);
  }
  // Requires Find(id).
  const Key& KeyOf(const DecisionId& id) const { return keys_.at(id); }
  // Removes and returns the first one that closes at or before `now`.
  std::optional<std::pair<Key, Window>> TakeDue(absl::Time now) {
    if (next_close() > now || windows_.empty()) return std::nullopt;
    std::pair<Key, Window> first(windows_.begin()->first, std::move(windows_.begin()->second));
    keys_.erase(first.second.id);
    windows_.erase(windows_.begin());
    return first;
  }
  // Requires that it is open.
  void Remove(const Key& key) {
    keys_.erase(windows_.at(key).id);
    windows_.erase(key);
  }
  // InfiniteFuture when none is open.
  absl::Time next_close() const {
    return windows_.empty() ? absl::InfiniteFuture() : windows_.begin()->first.first;
  }
  bool empty() const { return windows_.empty(); }
  const std::map<Key, Window>& all() const { return windows_; }
  // Calls change(key, window) for each, in order.
  template <typename Change>
  void ForEach(const Change& change) {
    for (auto& [key, window] : windows_) change(key, window);
  }

 private:
  std::map<Key, Window> windows_;
  absl::flat_hash_map<DecisionId, Key> keys_;
};

}  // namespace bandana

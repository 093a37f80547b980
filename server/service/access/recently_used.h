// A bounded memory.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

namespace bandana::server {

// A map that forgets what was not used for longest. Threads: not safe.
template <typename Value>
class RecentlyUsed {
 public:
  explicit RecentlyUsed(std::size_t most) : most_(most) {}
  RecentlyUsed(const RecentlyUsed&) = delete;
  RecentlyUsed& operator=(const RecentlyUsed&) = delete;
  // Takes over what another has.
  void Take(const RecentlyUsed& other) {
    for (auto it = other.entries_.rbegin(); it != other.entries_.rend(); ++it) {
      Put(it->first, it->second);
    }
  }

  // Null: not there.
  const Value* Find(const std::string& key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->second;
  }
  // Replaces what was there.
  void Put(const std::string& key, Value value) {
    Remove(key);
    entries_.emplace_front(key, std::move(value));
    places_[key] = entries_.begin();
    if (entries_.size() > most_) Remove(std::string(entries_.back().first));
  }
  void Remove(const std::string& key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return;
    entries_.erase(found->second);
    places_.erase(found);
  }
  void Clear() {
    places_.clear();
    entries_.clear();
  }
  std::size_t size() const { return entries_.size(); }

 private:
  using Entry = std::pair<std::string, Value>;
  const std::size_t most_;
  std::list<Entry> entries_;  // the last used first
  std::unordered_map<std::string, typename std::list<Entry>::iterator> places_;
};

}  // namespace bandana::server

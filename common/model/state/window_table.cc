#include "common/model/state/window_table.h"

#include <algorithm>
#include <cstring>

#include "common/bandits/statistics.h"
#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana {

std::uint64_t OwnerOf(int node, std::string_view keys) {
  std::uint64_t first = 0;
  if (keys.size() < sizeof first) return static_cast<std::uint64_t>(node) + 1;
  std::memcpy(&first, keys.data(), sizeof first);
  return first;
}

absl::Status WindowTable::Restore(const OpenWindows& open, std::span<const Cell> cells,
                                  const CellCodec& codec, const WindowValues& former) {
  absl::flat_hash_map<DecisionId, Window> held;
  for (const Cell& cell : cells) {
    slots_ = cell.slot + 1;
    if (!cell.live) {
      free_.push_back(cell.slot);
      continue;
    }
    BANDANA_ASSIGN_OR_RETURN(const WindowValue value, codec.Decode(cell.id, cell.content));
    held[cell.id] = {.id = cell.id, .value = value, .slot = cell.slot};
  }
  std::reverse(free_.begin(), free_.end());
  std::size_t found = 0;
  for (const auto& [key, window] : open.all()) {
    order_ = std::max(order_, key.second + 1);
    if (const auto cell = held.find(window.id); cell != held.end()) {
      ++found;
      Window held_one = cell->second;
      held_one.owner = OwnerOf(window.node, window.keys);
      held_one.dropped = window.node < 0;
      if (held_one.dropped) held_one.value = {};  // a former version left it in the cell
      Put(key, held_one);
    } else if (const auto value = former.find(window.id); value != former.end()) {
      Put(key, {.id = window.id, .value = value->second});
    } else {
      return DataLoss("the open decision of log entry ", key.second, " has no cell");
    }
  }
  if (found != held.size()) {
    return DataLoss("the log holds cells of ", held.size(), " open decisions, its entries open ",
                    found, " of them");
  }
  return absl::OkStatus();
}

void WindowTable::Put(const Key& key, const Window& window) {
  keys_[window.id] = key;
  windows_[key] = window;
}

std::uint64_t WindowTable::Open(absl::Time close, const DecisionId& id, const WindowValue& value,
                                std::uint64_t owner) {
  BANDANA_CHECK(!keys_.contains(id));
  const Key key(close, order_++);
  const bool reused = !free_.empty();
  const std::uint64_t slot = reused ? free_.back() : slots_++;
  if (reused) free_.pop_back();
  Put(key, {.id = id, .value = value, .slot = slot, .owner = owner});
  undo_.push_back({.key = key, .before = std::nullopt, .reused = reused, .slot = slot});
  return slot;
}

std::vector<const WindowTable::Window*> WindowTable::Of(
    const absl::flat_hash_set<std::uint64_t>& owners) const {
  std::vector<const Window*> found;
  for (const auto& [key, window] : windows_) {
    if (!window.dropped && owners.contains(window.owner)) found.push_back(&window);
  }
  return found;
}

void WindowTable::Drop(const absl::flat_hash_set<std::uint64_t>& owners) {
  for (auto& [key, window] : windows_) {
    if (window.dropped || !owners.contains(window.owner)) continue;
    undo_.push_back({.key = key, .before = window});
    window.dropped = true;
    window.value = {};
  }
}

const WindowTable::Window* WindowTable::Find(const DecisionId& id) const {
  const auto key = keys_.find(id);
  return key == keys_.end() ? nullptr : &windows_.at(key->second);
}

void WindowTable::Set(const DecisionId& id, const WindowValue& value) {
  const Key key = keys_.at(id);
  Window& window = windows_.at(key);
  undo_.push_back({.key = key, .before = window});
  window.value = value;
}

std::optional<WindowTable::Window> WindowTable::TakeDue(absl::Time now) {
  const auto first = windows_.begin();
  if (first == windows_.end() || first->first.first > now) return std::nullopt;
  Window window = first->second;
  undo_.push_back({.key = first->first, .before = window});
  if (window.slot) free_.push_back(*window.slot);
  keys_.erase(window.id);
  windows_.erase(first);
  return window;
}

absl::Time WindowTable::next_close() const {
  return windows_.empty() ? absl::InfiniteFuture() : windows_.begin()->first.first;
}

void WindowTable::Rollback() {
  for (auto change = undo_.rbegin(); change != undo_.rend(); ++change) {
    const auto now = windows_.find(change->key);
    if (!change->before) {  // it was opened
      keys_.erase(now->second.id);
      windows_.erase(now);
      if (change->reused) {
        free_.push_back(change->slot);
      } else {
        --slots_;
      }
      continue;
    }
    // It was set, or taken; then its slot was the last one that became free.
    if (now == windows_.end() && change->before->slot) free_.pop_back();
    Put(change->key, *change->before);
  }
  undo_.clear();
}

void CloseReported(const WindowValues& values, OpenWindows& windows,
                   std::vector<NodeStatistics>& statistics) {
  for (const auto& [key, window] : windows.all()) {
    if (window.node < 0) continue;
    NodeStatistics& sums = statistics[window.node];
    const auto value = values.find(window.id);
    if (value == values.end() || !value->second.reported || sums.moment.empty()) continue;
    std::vector<double> x(sums.moment.size());
    std::memcpy(x.data(), window.features.data(), window.features.size());
    AddEvent({.node = window.node, .features = x, .reward = value->second.reward}, sums);
  }
  windows = OpenWindows();
}

}  // namespace bandana

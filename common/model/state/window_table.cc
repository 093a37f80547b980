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
      windows_.Open(key, held_one);
    } else if (const auto value = former.find(window.id); value != former.end()) {
      windows_.Open(key, {.id = window.id, .value = value->second});
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

std::uint64_t WindowTable::Open(absl::Time close, const DecisionId& id, const WindowValue& value,
                                std::uint64_t owner) {
  BANDANA_CHECK(Find(id) == nullptr);
  const WindowOrder<Window>::Key key(close, order_++);
  const bool reused = !free_.empty();
  const std::uint64_t slot = reused ? free_.back() : slots_++;
  if (reused) free_.pop_back();
  windows_.Open(key, {.id = id, .value = value, .slot = slot, .owner = owner});
  undo_.push_back({.key = key, .before = std::nullopt, .reused = reused, .slot = slot});
  return slot;
}

std::vector<const WindowTable::Window*> WindowTable::Of(
    const absl::flat_hash_set<std::uint64_t>& owners) const {
  std::vector<const Window*> found;
  for (const auto& [key, window] : windows_.all()) {
    if (!window.dropped && owners.contains(window.owner)) found.push_back(&window);
  }
  return found;
}

void WindowTable::Drop(const absl::flat_hash_set<std::uint64_t>& owners) {
  windows_.ForEach([&](const auto& key, Window& window) {
    if (window.dropped || !owners.contains(window.owner)) return;
    undo_.push_back({.key = key, .before = window});
    window.dropped = true;
    window.value = {};
  });
}

void WindowTable::Set(const DecisionId& id, const WindowValue& value) {
  Window& window = *windows_.Find(id);
  undo_.push_back({.key = windows_.KeyOf(id), .before = window});
  window.value = value;
}

std::optional<WindowTable::Window> WindowTable::TakeDue(absl::Time now) {
  const auto due = windows_.TakeDue(now);
  if (!due) return std::nullopt;
  const auto& [key, window] = *due;
  undo_.push_back({.key = key, .before = window});
  if (window.slot) free_.push_back(*window.slot);
  return window;
}

void WindowTable::Rollback() {
  for (auto change = undo_.rbegin(); change != undo_.rend(); ++change) {
    if (!change->before) {  // it was opened
      windows_.Remove(change->key);
      if (change->reused) {
        free_.push_back(change->slot);
      } else {
        --slots_;
      }
      continue;
    }
    // It was set, or taken; then its slot was the last one that became free.
    if (!windows_.all().contains(change->key) && change->before->slot) free_.pop_back();
    windows_.Open(change->key, *change->before);
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

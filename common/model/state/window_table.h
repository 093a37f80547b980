// The open decisions of a model whose windows the server closes, with what each holds, as the gate
// knows them. The state machine knows the same decisions, but no reward before it is an event.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/model/entries/log_entry.h"
#include "common/model/state/cell_codec.h"
#include "common/model/state/model_state.h"

namespace bandana {

// A number for whose window it is: of its keys, in models of effects, the first; else of its node.
std::uint64_t OwnerOf(int node, std::string_view keys);

// Order: as OpenWindows, of close, then of the decision. Changes stand with Commit or fall with
// Rollback. Not thread-safe.
class WindowTable {
 public:
  struct Window {
    DecisionId id{};
    WindowValue value;
    std::optional<std::uint64_t> slot;  // of its cell; none: of a former checkpoint
    std::uint64_t owner = 0;            // OwnerOf
    bool dropped = false;               // its user was deleted: reports are refused, value is empty
  };

  // The windows of a state that was recovered, with the log's cells, by slot. Errors: DATA_LOSS a
  // decision without a cell, a cell without its decision, or a damaged one. `former`: of windows
  // that have no cell, because a checkpoint of a former version holds them.
  absl::Status Restore(const OpenWindows& open, std::span<const Cell> cells, const CellCodec& codec,
                       const WindowValues& former);

  // A new window; its cell's slot. Requires !Find(id).
  std::uint64_t Open(absl::Time close, const DecisionId& id, const WindowValue& value,
                     std::uint64_t owner = 0);
  // Those of these owners that are not dropped.
  std::vector<const Window*> Of(const absl::flat_hash_set<std::uint64_t>& owners) const;
  // Drops them: nothing that was reported is held any more. They close like all others.
  void Drop(const absl::flat_hash_set<std::uint64_t>& owners);
  // nullptr when no such decision is open.
  const Window* Find(const DecisionId& id) const { return windows_.Find(id); }
  // When the decision becomes an event. Requires Find(id).
  absl::Time CloseOf(const DecisionId& id) const { return windows_.KeyOf(id).first; }
  // Requires Find(id).
  void Set(const DecisionId& id, const WindowValue& value);
  // Takes the first one that closes at or before `now`.
  std::optional<Window> TakeDue(absl::Time now);
  absl::Time next_close() const { return windows_.next_close(); }
  bool empty() const { return windows_.empty(); }
  const std::map<WindowOrder<Window>::Key, Window>& all() const { return windows_.all(); }

  void Commit() { undo_.clear(); }
  void Rollback();

 private:
  struct Change {
    WindowOrder<Window>::Key key;
    std::optional<Window> before;  // none: it was opened
    bool reused = false;           // opened in a slot that had been free
    std::uint64_t slot = 0;
  };

  WindowOrder<Window> windows_;
  std::vector<std::uint64_t> free_;  // slots, the next to be used at the end
  std::uint64_t slots_ = 0;
  std::uint64_t order_ = 0;  // above that of every window so far
  std::vector<Change> undo_;
};

// Closes all windows. Those that `values` says a report came for are events, as a copy has them:
// added to the sums of their node, where it has sums.
void CloseReported(const WindowValues& values, OpenWindows& windows,
                   std::vector<NodeStatistics>& statistics);

}  // namespace bandana

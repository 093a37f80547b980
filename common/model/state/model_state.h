// The state of a model beside its statistics, and the transition of one log entry. Deterministic:
// the same entries give the same state, whoever reads them and when.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/bandits/effects/effects_posterior.h"
#include "common/model/entries/log_entry.h"
#include "common/model/entries/records.h"
#include "common/model/entries/user_index.h"
#include "common/model/state/arm_notes.h"
#include "common/model/state/central_streams.h"
#include "common/model/state/event_path.h"
#include "common/model/state/event_sink.h"
#include "common/model/state/held_contexts.h"
#include "common/model/state/ledger.h"
#include "common/model/state/local_streams.h"
#include "common/model/state/log_facts.h"
#include "common/model/state/sparse_stream.h"
#include "common/model/state/user_shape.h"
#include "common/model/state/window_order.h"

namespace bandana {

// A decision whose reward window is open. Its content is nobody's business here: its reward comes
// with the entry that closes it (WindowTable).
struct OpenWindow {
  DecisionId id{};
  int node = 0;          // -1: of a user who was deleted since: it closes without an event
  std::string features;  // d doubles of the arm that counts
  std::string keys;      // models of effects: its key parts, 8 bytes each
};

class OpenWindows : public WindowOrder<OpenWindow> {
 public:
  // Takes node, features and keys of the windows for which `goes` holds: their places stay, so that
  // they close in the same order.
  void Empty(absl::FunctionRef<bool(const OpenWindow&)> goes);
};

// Not thread-safe.
struct ModelState : LogFacts {
  LogPosition position;
  std::string graph;  // serialized v1::Graph in force; empty = the configuration's
  std::vector<std::uint64_t> events_at_epoch;  // of each node, when the epoch began
  std::optional<UserShape> shape;  // one counter over all users: from its first entry on
  OpenWindows windows;
  Ledger ledger;
  LocalStreams local;                         // models with a counter on the devices
  CentralStreams central;                     // models with a counter here
  SparseStream sparse;                        // sparse models
  std::shared_ptr<EffectsPosterior> effects;  // models of effects: the blocks
  std::shared_ptr<ArmNotes> notes;            // models that keep something of arms
  HeldContexts held;                          // of events that no release covers yet

  // Applies the entry at position.sequence + 1. `sink`: a StatisticsSink, or a learner of the path.
  // Errors: DATA_LOSS the entry does not parse; as EventPath::Apply.
  absl::Status Apply(const LogEntry& entry, const EventPath& path, UserIndex& users,
                     EventSink& sink);
};

}  // namespace bandana

#include "common/model/state/event_path.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "common/bandits/statistics.h"
#include "common/base/status.h"
#include "common/model/state/epoch_events.h"
#include "common/model/state/model_state.h"

namespace bandana {

absl::Status NoSuchEntry(std::string_view kind) {
  return DataLoss(ToAbsl(kind), " in a model that has none");
}

namespace {

std::vector<std::uint64_t> EventsIn(const EventSink& sink) {
  std::vector<std::uint64_t> events(static_cast<std::size_t>(sink.nodes()));
  for (int node = 0; node < sink.nodes(); ++node) events[node] = sink.events(node);
  return events;
}

}  // namespace

struct EventPath::Taker {
  const EventPath& path;
  const Applying& to;

  absl::Status operator()(const DecisionRecord& r) {
    if (to.state.notes != nullptr) to.state.notes->Decided(r.event.keys, r.event.time);
    return path.TakeDecision(r, to);
  }
  absl::Status operator()(const OutcomeRecord& r) {
    if (to.state.notes != nullptr) to.state.notes->Happened(r.event.keys, r.reward, r.received);
    return path.TakeOutcome(r, to);
  }
  absl::Status operator()(const CloseRecord& r) {
    to.state.Pass(r.now);
    if (to.state.notes != nullptr) Note(r);
    return path.TakeClose(r, to);
  }
  // A model that keeps nothing of it any more passes over it.
  absl::Status operator()(const SeenRecord& r) {
    if (to.state.notes != nullptr) to.state.notes->Shown(r);
    return absl::OkStatus();
  }
  absl::Status operator()(const ShownRecord& r) { return path.TakeShown(r, to); }
  absl::Status operator()(const CounterRecord& r) { return path.TakeCounter(r, to); }
  absl::Status operator()(const ContextRecord& r) { return path.TakeContext(r, to); }
  absl::Status operator()(const ShapeRecord& r) { return path.TakeShape(r, to); }
  absl::Status operator()(const GraphRecord& r) { return path.TakeGraph(r, to); }
  absl::Status operator()(const EpochRecord& r) { return path.TakeEpoch(r, to); }
  absl::Status operator()(const FadeRecord& r) { return path.TakeFade(r, to); }
  absl::Status operator()(const FreeRecord& r) {
    if (to.state.notes != nullptr) to.state.notes->Forget(r.keys);
    return path.events().Free(r.keys.bytes(), to.state);
  }
  absl::Status operator()(const DebitRecord& r) {
    return to.state.ledger.Add(to.position.sequence, r);
  }
  absl::Status operator()(const TimeRecord& r) {
    to.state.Pass(r.now);
    return to.state.windows.next_close() <= r.now ? FormerWindows() : absl::OkStatus();
  }
  absl::Status operator()(const ClockRecord& r) {
    if (r.ahead < absl::ZeroDuration()) return DataLoss("an entry sets the clock back");
    to.state.Take(r);
    return absl::OkStatus();
  }
  absl::Status operator()(const DeleteRecord& r) { return path.TakeDelete(r, to); }
  // Requests, which stand in no log.
  absl::Status operator()(const ReportRecord&) { return NoSuchEntry("a report"); }
  absl::Status operator()(const DeleteRequest&) { return NoSuchEntry("a request"); }
  absl::Status operator()(const OpeningRequest&) { return NoSuchEntry("a request"); }

  void Note(const CloseRecord& r) {
    for (const ClosedWindow& closed : r.windows) {
      const OpenWindow* const window = to.state.windows.Find(closed.id);
      if (window == nullptr || window->node < 0) continue;
      to.state.notes->Happened(PackedKeys::OfBytes(window->keys), closed.reward, r.now);
    }
  }
};

absl::Status EventPath::Apply(const Record& record, const Applying& to) const {
  return std::visit(Taker{*this, to}, record);
}

std::vector<NodeStatistics> EventPath::NoStatistics() const {
  return {static_cast<std::size_t>(facts_.nodes), EmptyStatistics(statistics_dimension())};
}

absl::Status EventPath::TakeDecision(const DecisionRecord&, const Applying&) const {
  return NoSuchEntry("a decision");
}
absl::Status EventPath::TakeOutcome(const OutcomeRecord&, const Applying&) const {
  return NoSuchEntry("an outcome");
}
absl::Status EventPath::TakeClose(const CloseRecord&, const Applying&) const {
  return NoSuchEntry("a window's end");
}
absl::Status EventPath::TakeShown(const ShownRecord&, const Applying&) const {
  return NoSuchEntry("a shown arm");
}
absl::Status EventPath::TakeCounter(const CounterRecord&, const Applying&) const {
  return NoSuchEntry("a counter's report");
}
absl::Status EventPath::TakeContext(const ContextRecord&, const Applying&) const {
  return NoSuchEntry("a context report");
}
absl::Status EventPath::TakeShape(const ShapeRecord&, const Applying&) const {
  return NoSuchEntry("a shape");
}

void EventPath::BeginNotes(ModelState& state) const {
  state.notes = facts_.notes ? std::make_shared<ArmNotes>(*facts_.notes) : nullptr;
}

absl::Status EventPath::RestoreNotes(std::string_view notes, ModelState& state) const {
  BeginNotes(state);
  if (state.notes == nullptr || notes.empty() || state.notes->Decode(notes)) {
    return absl::OkStatus();
  }
  return DataLoss("checkpoint: what is kept of arms has a wrong length");
}

absl::Status EventPath::TakeGraph(const GraphRecord& record, const Applying& to) const {
  // A graph that could not be put is in no log.
  if (!CheckGraphChange("").ok()) return NoSuchEntry("a graph");
  BANDANA_RETURN_IF_ERROR(PartOf<CoupledNodes>(to.sink).SetGraph(record.graph));
  to.state.graph = record.graph;
  return absl::OkStatus();
}

absl::Status EventPath::TakeEpoch(const EpochRecord& record, const Applying& to) const {
  ModelState& state = to.state;
  if (!state.windows.empty()) return FormerWindows();
  CloseStreams(state);
  state.Take(record);
  state.events_at_epoch = EventsIn(to.sink);
  return absl::OkStatus();
}

absl::Status EventPath::ForgetNode(int node, const Applying& to) const {
  ModelState& state = to.state;
  BANDANA_RETURN_IF_ERROR(PartOf<CoupledNodes>(to.sink).ForgetNode(node));
  state.local.Forget(node);
  state.central.Forget(node);
  state.held.Forget(node);
  const auto i = static_cast<std::size_t>(node);
  if (i < state.events_at_epoch.size()) state.events_at_epoch[i] = 0;
  to.users.Remove(node);
  return absl::OkStatus();
}

absl::Status EventPath::TakeDelete(const DeleteRecord& record, const Applying& to) const {
  ModelState& state = to.state;
  for (const DeletedUser& user : record.users) {
    if (user.node < 0) continue;
    if (facts_.users.known() != UserNodes::Known::kSeen) return NoSuchEntry("a user's own node");
    if (user.node >= to.sink.nodes() || user.node >= to.users.size()) {
      return DataLoss("a deleted user has node ", user.node, ", the model has ", to.sink.nodes());
    }
  }
  BANDANA_RETURN_IF_ERROR(state.Take(record, EpochEventsOf(state, EventsIn(to.sink))));
  // Those of this entry alone: who was deleted before may have come back, with open decisions.
  state.windows.Empty([&](const OpenWindow& window) {
    const auto key = UserOf("", PackedKeys::OfBytes(window.keys));
    const UserHash hash = key ? DeletedUsers::HashOf(record.key, *key) : UserHash{};
    return std::ranges::any_of(record.users, [&](const DeletedUser& user) {
      return key ? user.hash == hash : user.node >= 0 && user.node == window.node;
    });
  });
  for (const DeletedUser& user : record.users) {
    if (user.node >= 0) BANDANA_RETURN_IF_ERROR(ForgetNode(user.node, to));
  }
  return absl::OkStatus();
}

// PROOF: forgetting begin
absl::Status EventPath::TakeFade(const FadeRecord& record, const Applying& to) const {
  if (record.half_life != absl::ZeroDuration() && record.half_life < absl::Hours(1)) {
    return DataLoss("an entry fades by a half-life below an hour");
  }
  Fading fading = to.state.fading;
  fading.Apply(record.now, record.half_life);
  BANDANA_RETURN_IF_ERROR(Fade(fading.steps(), to.sink));
  to.state.fading = fading;
  return absl::OkStatus();
}

absl::Status EventPath::Fade(std::uint64_t, EventSink&) const { return NoSuchEntry("fading"); }
// PROOF: forgetting end

absl::StatusOr<int> EventPath::NodeOf(std::int32_t node, std::string_view user,
                                      const Applying& to) const {
  const auto join = [&to](std::string_view name) -> absl::StatusOr<int> {
    const int joined = to.users.Add(name);
    if (joined == to.sink.nodes()) BANDANA_RETURN_IF_ERROR(PartOf<CoupledNodes>(to.sink).AddNode());
    return joined;
  };
  BANDANA_ASSIGN_OR_RETURN(const int found, facts_.users.NodeOf({node, user}, join));
  if (found < 0 || found >= to.sink.nodes()) {
    return DataLoss("an event's node is ", found, ", the model has ", to.sink.nodes());
  }
  return found;
}

Released<NodeRelease> EventPath::ReleaseOf(const ModelState&, int) const {
  return Released<NodeRelease>(NodeRelease{});
}

absl::Status EventPath::RestoreCentral(std::string_view, ModelState&) const {
  return absl::OkStatus();
}
absl::Status EventPath::RestoreSparse(std::string_view, ModelState&) const {
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::string>> EventPath::Opening(const ModelSpec&,
                                                              const ModelState&) const {
  return std::optional<std::string>();
}

absl::Status EventPath::CheckGraphChange(std::string_view model) const {
  return facts_.users.CheckGraphChange(model);
}

absl::StatusOr<WindowValues> EventPath::ReportsToCopy(
    absl::FunctionRef<absl::StatusOr<WindowValues>()>) const {
  return WindowValues();
}

absl::Status EventPath::BeginCopy(const WindowValues&, ModelState& state,
                                  std::vector<NodeStatistics>& statistics) const {
  CloseStreams(state);
  state.windows = OpenWindows();
  state.deleted.Clear();
  ++state.epoch;
  for (std::size_t node = 0; node < statistics.size(); ++node) {
    state.events_at_epoch[node] = statistics[node].events;
  }
  return absl::OkStatus();
}

absl::Status EventPath::BeforeShown(absl::FunctionRef<absl::Status()>) const {
  return absl::OkStatus();
}

absl::StatusOr<std::optional<CellKey>> EventPath::MakeCellKey() const {
  return std::optional<CellKey>();
}

}  // namespace bandana

#include "common/model/state/model_state.h"

#include <cmath>
#include <cstring>
#include <utility>
#include <variant>

#include "common/base/status.h"

namespace bandana {
namespace {

struct Transition {
  ModelState& state;
  const LogPosition& position;  // of the entry
  const RewardPath& path;
  UserIndex& users;
  EventSink& sink;

  absl::Status operator()(const DecisionRecord& record) {
    if (path.contexts() != nullptr) return DataLoss("a decision in a model with private contexts");
    if (path.counts_on_device()) return DataLoss("a decision in a model that devices count for");
    if (!path.windowed()) return DataLoss("a decision in a model without windows");
    if (state.windows.Find(record.event.id) != nullptr) return DataLoss("a decision is open twice");
    BANDANA_ASSIGN_OR_RETURN(const int node, NodeOf(record.event));
    state.windows.Open(
        {record.close, position.sequence},
        {.id = record.event.id, .node = node, .features = std::string(record.event.feature_bytes)});
    return absl::OkStatus();
  }

  absl::Status operator()(const OutcomeRecord& record) {
    if (path.contexts() != nullptr) return DataLoss("an outcome in a model with private contexts");
    if (path.counts_on_device()) return DataLoss("an outcome in a model that devices count for");
    if (path.windowed()) return FormerWindows();
    BANDANA_ASSIGN_OR_RETURN(const int node, NodeOf(record.event));
    return Use(node, record.event.feature_bytes, record.reward);
  }

  absl::Status operator()(const TimeRecord& record) {
    state.time = record.now;
    return state.windows.next_close() <= record.now ? FormerWindows() : absl::OkStatus();
  }

  absl::Status operator()(const CloseRecord& record) {
    if (!path.windowed()) return DataLoss("windows close in a model that has none");
    state.time = record.now;
    const absl::Time through = record.early ? absl::InfiniteFuture() : record.now;
    OpenWindow window;
    for (const ClosedWindow& closed : record.windows) {
      if (!state.windows.TakeDue(through, window) || window.id != closed.id ||
          !std::isfinite(closed.reward)) {
        return DataLoss("windows close that are not the next ones");
      }
      BANDANA_RETURN_IF_ERROR(Use(window.node, window.features, closed.reward));
    }
    const bool all = record.windows.size() < kClosedWindowsMax;
    if (all && state.windows.next_close() <= through && !state.windows.all().empty()) {
      return DataLoss("a window does not close with the others");
    }
    return absl::OkStatus();
  }

  absl::Status operator()(const ShownRecord& record) {
    OpenWindow* window = path.central() ? nullptr : state.windows.Find(record.id);
    if (window == nullptr) return DataLoss("an arm was shown in no decision that is open");
    window->features = record.feature_bytes;
    return absl::OkStatus();
  }

  absl::Status operator()(const ReportRecord&) {
    return DataLoss("a report that stands in no log");
  }

  absl::Status operator()(const EpochRecord& record) {
    if (!state.windows.all().empty()) return FormerWindows();
    state.CloseStreams(path);
    state.epoch = record.epoch;
    state.events_at_epoch.resize(sink.nodes());
    for (int node = 0; node < sink.nodes(); ++node) {
      state.events_at_epoch[node] = sink.events(node);
    }
    return absl::OkStatus();
  }

  absl::Status operator()(const GraphRecord& record) {
    BANDANA_RETURN_IF_ERROR(sink.SetGraph(record.graph));
    state.graph = record.graph;
    return absl::OkStatus();
  }

  absl::Status operator()(const CounterRecord& record) {
    if (!path.counts_on_device()) return DataLoss("a counter's report in a model without one");
    BANDANA_ASSIGN_OR_RETURN(const int node, NodeOf(record));
    const CounterDesign& design = *path.counter();
    const HeldContexts::Key stream{node, record.stream};
    const std::uint64_t before = state.local.StepOf(node, record.stream);
    if (record.step <= before || record.step > design.step_cap()) {
      return DataLoss("a counter's report at step ", record.step, " after step ", before, " of ",
                      design.step_cap());
    }
    // Then it also covers every earlier step: the next end is after all that were received.
    const bool moves = design.Covered(record.step) > design.Covered(before);
    if (moves) JoinHeld(stream);
    for (const CounterStep& step : record.steps) {
      UseContext(stream, step.feature_bytes, step.covered);
    }
    state.local.Accept(record, node, path.dimension());
    if (moves) sink.Touch(node);
    return absl::OkStatus();
  }

  absl::Status operator()(const ContextRecord& record) {
    if (path.contexts() == nullptr) return DataLoss("a context report in a model that takes none");
    BANDANA_ASSIGN_OR_RETURN(const Released<JointEstimate> estimate, path.Read(record));
    sink.Hold(0);
    sink.Join(0, {.gram = estimate.value().gram, .moment = estimate.value().moment});
    return absl::OkStatus();
  }

  absl::Status operator()(const ShapeRecord& record) {
    if (!path.shaped() || state.shape) return DataLoss("a shape in a model that takes none");
    UserShape shape{.nodes = record.nodes};
    shape.root.resize(record.root_bytes.size() / sizeof(double));
    std::memcpy(shape.root.data(), record.root_bytes.data(), record.root_bytes.size());
    BANDANA_RETURN_IF_ERROR(CheckShape(shape, sink.nodes()));
    sink.SetShape(shape);
    state.shape = std::move(shape);
    return absl::OkStatus();
  }

  absl::Status operator()(const DebitRecord& record) {
    return state.ledger.Add(position.sequence, record);
  }

  // One event, with the reward as the log has it.
  absl::Status Use(int node, std::string_view features, double reward) {
    if (path.sparse() != nullptr) return UseSparse(node, features, reward);
    if (path.counter() == nullptr) {
      const std::uint64_t index = path.central() ? sink.events(node) + 1 : 0;
      BANDANA_ASSIGN_OR_RETURN(const Released<double> released,
                               path.Release(reward, node, index, state.epoch, position.hash));
      sink.Add(node, features, released);
      return absl::OkStatus();
    }
    if (path.shaped() && !state.shape) return DataLoss("an event before the shape");
    std::vector<double> x(path.dimension());
    std::memcpy(x.data(), features.data(), features.size());
    const int stream = path.StreamOf(node);
    BANDANA_ASSIGN_OR_RETURN(
        const ClippedIncrement increment,
        path.IncrementOf(node, std::move(x), reward, state.shape ? &*state.shape : nullptr));
    BANDANA_RETURN_IF_ERROR(state.central.Step(stream, increment, *path.counter(),
                                               path.OriginOf(state.epoch, position.hash)));
    const bool releases = path.counter()->ReleaseSize(state.central.steps(stream)) > 0;
    // PROOF: joint_served begin
    if (path.joint() != nullptr) {
      // The context is as private as the reward: that there was an event is all that is kept.
      sink.Hold(node);
      if (releases) sink.Touch(node);
      return absl::OkStatus();
    }
    // PROOF: joint_served end
    if (releases) JoinCovered(node);
    UseContext({node, {}}, features, releases);
    return absl::OkStatus();
  }

  // PROOF: sparse_served begin
  // Context and reward enter the open episode: that there was an event is all that is kept beside.
  absl::Status UseSparse(int node, std::string_view features, double reward) {
    std::vector<double> x(path.dimension());
    std::memcpy(x.data(), features.data(), features.size());
    BANDANA_ASSIGN_OR_RETURN(
        const bool released,
        state.sparse.Step(x, reward, *path.sparse(), path.OriginOf(state.epoch, position.hash)));
    sink.Hold(node);
    if (released) sink.SetEstimate(state.sparse.estimate());
    return absl::OkStatus();
  }
  // PROOF: sparse_served end

  // Contexts that the release of the node's stream covers.
  void JoinCovered(int node) {
    if (!path.shaped()) return JoinHeld({node, {}});
    state.held.TakeAll(
        [this](int held, const NodeStatistics& contexts) { sink.Join(held, contexts); });
  }

  // S holds an event from the release on that covers it.
  void UseContext(const HeldContexts::Key& stream, std::string_view features, bool covered) {
    if (covered) return sink.Add(stream.first, features, path.Centre());
    state.held.Hold(stream, features, path.Centre().value());
    sink.Hold(stream.first);
  }

  void JoinHeld(const HeldContexts::Key& stream) {
    if (const auto held = state.held.Take(stream)) sink.Join(stream.first, *held);
  }

  template <typename R>
  absl::StatusOr<int> NodeOf(const R& event) {
    const int node = event.user.empty() ? event.node : users.Add(event.user);
    if (node == sink.nodes() && !event.user.empty()) {
      BANDANA_RETURN_IF_ERROR(sink.AddNode());
    }
    if (node < 0 || node >= sink.nodes()) {
      return DataLoss("an event's node is ", node, ", the model has ", sink.nodes());
    }
    return node;
  }
};

}  // namespace

void OpenWindows::Open(Key key, OpenWindow window) {
  keys_[window.id] = key;
  windows_.emplace(key, std::move(window));
}

OpenWindow* OpenWindows::Find(const DecisionId& id) {
  const auto key = keys_.find(id);
  return key == keys_.end() ? nullptr : &windows_.at(key->second);
}

bool OpenWindows::TakeDue(absl::Time now, OpenWindow& window) {
  const auto first = windows_.begin();
  if (first == windows_.end() || first->first.first > now) return false;
  window = std::move(first->second);
  keys_.erase(window.id);
  windows_.erase(first);
  return true;
}

absl::Time OpenWindows::next_close() const {
  return windows_.empty() ? absl::InfiniteFuture() : windows_.begin()->first.first;
}

Released<NodeRelease> ModelState::ReleaseOf(int node, const RewardPath& path) const {
  return path.central() ? central.ReleaseOf(node, *path.counter())
                        : local.ReleaseOf(node, *path.counter());
}

void ModelState::CloseStreams(const RewardPath& path) {
  sparse.Close();
  if (path.counter() == nullptr) return;
  local.Close(*path.counter());
  central.Close();
  held.Clear();
}

absl::Status ModelState::Apply(const LogEntry& entry, const RewardPath& path, UserIndex& users,
                               EventSink& sink) {
  absl::StatusOr<Record> record = Decode(entry.record, path.dimension());
  absl::Status applied = record.status();
  if (record.ok()) {
    applied = std::visit(Transition{*this, entry.position, path, users, sink}, *record);
  }
  if (!applied.ok()) {
    return Annotate(applied, absl::StrCat("log entry ", entry.position.sequence));
  }
  position = entry.position;
  return absl::OkStatus();
}

}  // namespace bandana

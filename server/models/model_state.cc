#include "server/models/model_state.h"

#include <utility>
#include <variant>

#include "common/base/status.h"

namespace bandana::server {
namespace {

struct Transition {
  ModelState& state;
  std::uint64_t sequence;
  bool windowed;
  UserIndex& users;
  EventSink& sink;

  absl::Status operator()(const DecisionRecord& record) {
    BANDANA_ASSIGN_OR_RETURN(const int node, NodeOf(record.event));
    state.windows.Open({record.close, sequence},
                       {.id = record.event.id,
                        .node = node,
                        .reward = record.default_reward,
                        .features = std::string(record.event.feature_bytes)});
    return absl::OkStatus();
  }

  absl::Status operator()(const OutcomeRecord& record) {
    if (windowed) {
      OpenWindow* window = state.windows.Find(record.event.id);
      if (window == nullptr) return DataLoss("an outcome has no open decision");
      window->reported = true;
      window->reward = record.reward;
      window->features = record.event.feature_bytes;
      return absl::OkStatus();
    }
    BANDANA_ASSIGN_OR_RETURN(const int node, NodeOf(record.event));
    sink.Add(node, record.event.feature_bytes, record.reward);
    return absl::OkStatus();
  }

  absl::Status operator()(const TimeRecord& record) {
    state.time = record.now;
    Close(record.now);
    return absl::OkStatus();
  }

  absl::Status operator()(const EpochRecord& record) {
    Close(absl::InfiniteFuture());
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

  void Close(absl::Time now) {
    OpenWindow window;
    while (state.windows.TakeDue(now, window)) {
      sink.Add(window.node, window.features, window.reward);
    }
  }

  absl::StatusOr<int> NodeOf(const EventRecord& event) {
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

absl::Status ModelState::Apply(const LogEntry& entry, int dimension, bool windowed,
                               UserIndex& users, EventSink& sink) {
  const std::uint64_t sequence = entry.position.sequence;
  absl::StatusOr<Record> record = Decode(entry.record, dimension);
  absl::Status applied = record.status();
  if (record.ok())
    applied = std::visit(Transition{*this, sequence, windowed, users, sink}, *record);
  if (!applied.ok()) return Annotate(applied, absl::StrCat("log entry ", sequence));
  position = entry.position;
  return absl::OkStatus();
}

}  // namespace bandana::server

#include "common/model/paths/device_counter_path.h"

#include "common/base/status.h"
#include "common/model/learners/counter_sink.h"
#include "common/model/state/model_state.h"

namespace bandana {

absl::Status DeviceCounterPath::TakeCounter(const CounterRecord& record, const Applying& to) const {
  ModelState& state = to.state;
  BANDANA_ASSIGN_OR_RETURN(const int node, NodeOf(record.node, record.user, to));
  const HeldContexts::Key stream{node, record.stream};
  const std::uint64_t before = state.local.StepOf(node, record.stream);
  if (record.step <= before || record.step > design_.step_cap()) {
    return DataLoss("a counter's report at step ", record.step, " after step ", before, " of ",
                    design_.step_cap());
  }
  auto& sums = PartOf<ContextSums>(to.sink);
  // A release that moves covers every step before: the next end is after all that were received.
  const bool moves = design_.Covered(record.step) > design_.Covered(before);
  if (moves) JoinHeld(stream, state.held, sums);
  for (const CounterStep& step : record.steps) {
    contexts_.Enter(stream, step.features.bytes(), step.covered, state.held, sums);
  }
  state.local.Accept(record, node, dimension());
  if (moves) sums.Touch(node);
  return absl::OkStatus();
}

Released<NodeRelease> DeviceCounterPath::ReleaseOf(const ModelState& state, int stream) const {
  return state.local.ReleaseOf(stream, design_);
}

void DeviceCounterPath::CloseStreams(ModelState& state) const {
  state.local.Close(design_);
  state.held.Clear();
}

absl::StatusOr<std::unique_ptr<Learner>> DeviceCounterPath::MakeLearner(
    const ModelSpec& spec, const ModelState& state, std::vector<NodeStatistics> statistics) const {
  return CounterSink::Create(spec, *this, state, std::move(statistics));
}

}  // namespace bandana

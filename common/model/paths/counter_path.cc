#include "common/base/status.h"
#include "common/model/learners/counter_sink.h"
#include "common/model/paths/stream_path.h"
#include "common/model/state/model_state.h"

namespace bandana {

// PROOF: central begin
absl::StatusOr<ClippedIncrement> CounterPath::IncrementOf(int, std::vector<double> features,
                                                          double reward, const ModelState&) const {
  for (double& value : features) value *= reward - contexts_.centre();
  return ClippedIncrement::Clip(features, design().grid());
}
// PROOF: central end

void CounterPath::Enter(int node, std::string_view features, bool releases,
                        const Applying& to) const {
  auto& sums = PartOf<ContextSums>(to.sink);
  const HeldContexts::Key stream{node, {}};
  if (releases) JoinHeld(stream, to.state.held, sums);
  contexts_.Enter(stream, features, releases, to.state.held, sums);
}

absl::StatusOr<std::unique_ptr<Learner>> CounterPath::MakeLearner(
    const ModelSpec& spec, const ModelState& state, std::vector<NodeStatistics> statistics) const {
  return CounterSink::Create(spec, *this, state, std::move(statistics));
}

}  // namespace bandana

#include "common/model/paths/stream_path.h"

#include <cstring>

#include "common/base/status.h"
#include "common/model/state/context_binding.h"
#include "common/model/state/model_state.h"

namespace bandana {

// PROOF: central begin
absl::Status StreamPath::Use(const SeenEvent& event, double reward, const Applying& to) const {
  const int node = event.node;
  std::vector<double> x(dimension());
  std::memcpy(x.data(), event.features.data(), event.features.size());
  const std::span<const double> read = FeaturesOf(binding(), x);
  BANDANA_ASSIGN_OR_RETURN(
      const ClippedIncrement increment,
      IncrementOf(node, {read.begin(), read.end()}, binding().RewardOf(reward), to.state));
  const int stream = StreamOf(node);
  CentralStreams& streams = to.state.central;
  BANDANA_RETURN_IF_ERROR(streams.Step(stream, increment, design_, OriginOf(to)));
  Enter(node, event.features, design_.ReleaseSize(streams.steps(stream)) > 0, to);
  return absl::OkStatus();
}
// PROOF: central end

Released<NodeRelease> StreamPath::ReleaseOf(const ModelState& state, int stream) const {
  return state.central.ReleaseOf(stream, design_);
}

void StreamPath::CloseStreams(ModelState& state) const {
  state.central.Close();
  state.held.Clear();
}

absl::Status StreamPath::RestoreCentral(std::string_view central, ModelState& state) const {
  ByteReader in(central);
  BANDANA_RETURN_IF_ERROR(state.central.Decode(in, design_, &binding()));
  if (!in.Done()) return DataLoss("checkpoint: counters have a wrong length");
  return absl::OkStatus();
}

}  // namespace bandana

#include "common/base/status.h"
#include "common/model/learners/joint_sink.h"
#include "common/model/paths/stream_path.h"
#include "common/model/state/model_state.h"

namespace bandana {

// PROOF: joint_served begin
absl::StatusOr<ClippedIncrement> JointPath::IncrementOf(int, std::vector<double> features,
                                                        double reward, const ModelState&) const {
  return joint_.Clip(RawInteraction(std::move(features), reward));
}

// The context is as private as the reward: that there was an event is all that is kept.
void JointPath::Enter(int node, std::string_view, bool releases, const Applying& to) const {
  auto& events = PartOf<StreamEvents>(to.sink);
  events.Count(node);
  if (releases) events.Touch(node);
}
// PROOF: joint_served end

absl::StatusOr<std::unique_ptr<Learner>> JointPath::MakeLearner(
    const ModelSpec& spec, const ModelState& state, std::vector<NodeStatistics> statistics) const {
  return JointSink::Create(spec, *this, state, std::move(statistics));
}

}  // namespace bandana

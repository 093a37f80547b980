#include "common/model/paths/drawn_path.h"

#include <optional>
#include <variant>

#include "common/base/status.h"
#include "common/model/learners/learner.h"

namespace bandana {

// PROOF: central begin
absl::StatusOr<RewardEvent> DrawnPath::Draw(double reward, const Event& event,
                                            const NoiseOrigin& origin) const {
  const ClippedReward clipped =
      rewards_.Clip(RawReward(binding().RewardOf(reward)), default_reward_, std::nullopt);
  const NoiseAddress address{.instance = origin.instance,
                             .epoch = origin.epoch,
                             .parameters = parameters_,
                             .stream = static_cast<std::uint64_t>(event.node),
                             .node = event.index,
                             .history = origin.history,
                             .input = binding().InputOf(rewards_.InputOf(clipped))};
  BANDANA_ASSIGN_OR_RETURN(KeyedStream bits, KeyedStream::ForNode(*origin.key, address));
  BANDANA_ASSIGN_OR_RETURN(const PerturbedReward perturbed, rewards_.Draw(clipped, bits));
  const auto read = rewards_.Read({.output = perturbed.output()}, /*reward_stddev=*/0);
  const auto* const event_read = std::get_if<RewardEvent>(&read);
  if (event_read == nullptr) return Internal("an output that its own mechanism does not read");
  return *event_read;
}

absl::Status DrawnPath::Use(const SeenEvent& seen, double reward, const Applying& to) const {
  const Event event{.node = seen.node, .index = to.sink.events(seen.node) + 1};
  BANDANA_ASSIGN_OR_RETURN(const RewardEvent drawn, Draw(reward, event, OriginOf(to)));
  SeenEvent released = seen;
  released.variance = drawn.variance;
  return events().Add(released, Released<double>(drawn.value), to.state, to.sink);
}
// PROOF: central end

absl::StatusOr<std::unique_ptr<Learner>> DrawnPath::MakeLearner(
    const ModelSpec& spec, const ModelState& state, std::vector<NodeStatistics> statistics) const {
  return events().MakeLearner(spec, state, rewards_.VarianceMax(), std::move(statistics));
}

}  // namespace bandana

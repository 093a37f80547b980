#include "common/model/state/reward_events.h"

#include "common/base/status.h"
#include "common/model/state/model_state.h"

namespace bandana {

RewardEvents::~RewardEvents() = default;

absl::Status RewardEvents::Restore(std::string_view effects, ModelState&) const {
  return effects.empty() ? absl::OkStatus()
                         : DataLoss("checkpoint: it has effects, which the model has not");
}

absl::Status RewardEvents::Add(const SeenEvent& event, const Released<double>& reward, ModelState&,
                               EventSink& sink) const {
  if (!event.keys.empty()) return DataLoss("an event has keys, in a model without effects");
  PartOf<RewardSums>(sink).Add(event.node, event.features, reward);
  return absl::OkStatus();
}

absl::Status RewardEvents::Free(std::string_view, ModelState&) const {
  return NoSuchEntry("freed effects");
}

absl::Status RewardEvents::Fade(std::uint64_t, EventSink&) const { return NoSuchEntry("fading"); }

}  // namespace bandana

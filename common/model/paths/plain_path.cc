#include "common/model/paths/plain_path.h"

#include "common/base/status.h"
#include "common/model/learners/learner.h"
#include "common/model/state/model_state.h"
#include "common/model/state/window_table.h"

namespace bandana {

absl::Status PlainPath::Use(const SeenEvent& event, double reward, const Applying& to) const {
  return events().Add(event, Released<double>(reward), to.state, to.sink);
}

// Windows that a report came for are events, as the copy has them.
absl::Status PlainPath::BeginCopy(const WindowValues& reported, ModelState& state,
                                  std::vector<NodeStatistics>& statistics) const {
  StatisticsSink sink(statistics_dimension(), std::move(statistics), state.fading.steps());
  for (const auto& [key, window] : state.windows.all()) {
    if (window.node < 0) continue;  // its user was deleted
    const auto value = reported.find(window.id);
    if (value == reported.end() || !value->second.reported) continue;
    BANDANA_RETURN_IF_ERROR(
        events().Add({.node = window.node, .features = window.features, .keys = window.keys},
                     Released<double>(value->second.reward), state, sink));
  }
  Settle(state);
  statistics = sink.Take();
  state.windows = OpenWindows();
  state.deleted.KeepCounted();
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Learner>> PlainPath::MakeLearner(
    const ModelSpec& spec, const ModelState& state, std::vector<NodeStatistics> statistics) const {
  return events().MakeLearner(spec, state, variance_, std::move(statistics));
}

}  // namespace bandana

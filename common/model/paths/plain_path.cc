#include "common/model/paths/plain_path.h"

#include "common/model/learners/learner.h"
#include "common/model/state/window_book.h"

namespace bandana {

absl::Status PlainPath::Use(int node, std::string_view features, double reward,
                            const Applying& to) const {
  PartOf<RewardSums>(to.sink).Add(node, features, Released<double>(reward));
  return absl::OkStatus();
}

void PlainPath::BeginCopy(const WindowValues& reported, ModelState& state,
                          std::vector<NodeStatistics>& statistics) const {
  CloseReported(reported, state.windows, statistics);
}

absl::StatusOr<std::unique_ptr<Learner>> PlainPath::MakeLearner(
    const ModelSpec& spec, const ModelState& state, std::vector<NodeStatistics> statistics) const {
  return make_learner_(spec, state, variance_, std::move(statistics));
}

}  // namespace bandana

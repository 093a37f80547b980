#include "common/model/learners/reward_learners.h"

#include <utility>

#include "common/base/status.h"
#include "common/model/learners/arms_sink.h"
#include "common/model/learners/bandit_sink.h"
#include "common/model/learners/points_sink.h"

namespace bandana {

absl::StatusOr<std::unique_ptr<Learner>> MakeLinearLearner(const ModelSpec& spec,
                                                           const ModelState& state, double,
                                                           std::vector<NodeStatistics> statistics) {
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<BanditModel> model,
                           MakeBandit(spec, state, statistics.size()));
  BANDANA_RETURN_IF_ERROR(AsRecovered(model->Restore(std::move(statistics))));
  return std::make_unique<BanditSink>(spec, std::move(model));
}

absl::StatusOr<std::unique_ptr<Learner>> MakeArmsLearner(const ModelSpec& spec, const ModelState&,
                                                         double variance,
                                                         std::vector<NodeStatistics> statistics) {
  return ArmsSink::Create(spec, variance, std::move(statistics));
}

absl::StatusOr<std::unique_ptr<Learner>> MakePointsLearner(const ModelSpec& spec, const ModelState&,
                                                           double,
                                                           std::vector<NodeStatistics> statistics) {
  return PointsSink::Create(spec, std::move(statistics));
}

}  // namespace bandana

#include "common/model/core.h"

#include <utility>
#include <vector>

#include "common/bandits/statistics.h"
#include "common/base/status.h"
#include "common/model/state/event_sink.h"

namespace bandana {

absl::StatusOr<std::unique_ptr<ModelCore>> ModelCore::Create(ModelSpec spec,
                                                             const InstanceId& instance,
                                                             std::shared_ptr<const NoiseKey> key,
                                                             const NoiseBinding* binding) {
  std::unique_ptr<ModelCore> core(new ModelCore(std::move(spec)));
  const ModelSpec& model = core->spec_;
  BANDANA_ASSIGN_OR_RETURN(RewardPath path,
                           RewardPath::Create(model, instance, std::move(key), binding));
  core->path_ = std::make_unique<const RewardPath>(std::move(path));
  std::vector<NodeStatistics> none(model.coupling.independent() ? 0 : model.coupling.nodes(),
                                   EmptyStatistics(StatisticsDimension(model)));
  BANDANA_ASSIGN_OR_RETURN(core->learner_,
                           MakeLearner(model, *core->path_, core->state_, std::move(none)));
  return core;
}

absl::Status ModelCore::Apply(const LogEntry& entry) {
  return state_.Apply(entry, *path_, users_, *learner_);
}

absl::Status ModelCore::Append(std::string record) {
  const LogPosition& last = state_.position;
  const Sha256Digest hash = ChainHash(last.hash, record);
  return Apply({.position = {last.sequence + 1, hash}, .record = std::move(record)});
}

absl::Status ModelCore::Refresh() {
  learner_->Flush();
  return learner_->Refresh([this](int node) { return state_.ReleaseOf(node, *path_); });
}

std::vector<int> ModelCore::TakeChangedNodes() {
  learner_->Flush();
  return learner_->TakeChangedNodes();
}

NodePosterior ModelCore::Posterior(int node) {
  learner_->Flush();
  return learner_->Posterior(node);
}

}  // namespace bandana

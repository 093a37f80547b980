#include "common/model/core.h"

#include <utility>
#include <vector>

#include "common/base/status.h"

namespace bandana {

absl::StatusOr<std::unique_ptr<ModelCore>> ModelCore::Create(ModelSpec spec,
                                                             const InstanceId& instance,
                                                             std::shared_ptr<const NoiseKey> key,
                                                             const NoiseBinding* binding) {
  std::unique_ptr<ModelCore> core(new ModelCore(std::move(spec)));
  const ModelSpec& model = core->spec_;
  BANDANA_ASSIGN_OR_RETURN(core->path_, MakePath(model, instance, std::move(key), binding));
  BANDANA_RETURN_IF_ERROR(core->path_->Begin(core->state_));
  BANDANA_ASSIGN_OR_RETURN(
      core->learner_, core->path_->MakeLearner(model, core->state_, core->path_->NoStatistics()));
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
  learner_->Flush(state_);
  return learner_->Refresh(state_);
}

std::vector<int> ModelCore::TakeChangedNodes() {
  learner_->Flush(state_);
  return learner_->TakeChangedNodes();
}

NodePosterior ModelCore::Posterior(int node) {
  learner_->Flush(state_);
  return learner_->Posterior(node);
}

std::shared_ptr<const ServedPosterior> ModelCore::Served() {
  const std::vector<int> changed = TakeChangedNodes();
  return learner_->Show(state_.position.sequence, changed);
}

}  // namespace bandana

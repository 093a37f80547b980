#include "common/model/learners/counter_sink.h"

#include <cstring>
#include <utility>

#include "common/bandits/statistics.h"
#include "common/base/status.h"

namespace bandana {

NodeStatistics WithRelease(NodeStatistics contexts, const Released<NodeRelease>& release) {
  const NodeRelease& noisy = release.value();
  for (std::size_t i = 0; i < noisy.moment.size(); ++i) contexts.moment[i] += noisy.moment[i];
  contexts.moment_variance = noisy.variance;
  return contexts;
}

CounterSink::CounterSink(const ModelSpec& spec, std::unique_ptr<BanditModel> model,
                         std::vector<NodeStatistics> contexts)
    : BanditLearner(spec, std::move(model)),
      contexts_(std::move(contexts)),
      x_(model_->dimension()) {}

absl::Status CounterSink::AddNode() {
  BANDANA_RETURN_IF_ERROR(model_->AddNode().status());
  contexts_.push_back(EmptyStatistics(model_->dimension()));
  return absl::OkStatus();
}

void CounterSink::Add(int node, std::string_view features, const Released<double>& reward) {
  std::memcpy(x_.data(), features.data(), features.size());
  AddEvent({.node = node, .features = x_, .reward = reward.value()}, contexts_[node]);
  Touch(node);
}

void CounterSink::Join(int node, const NodeStatistics& held) {
  JoinContexts(held, contexts_[node]);
  Touch(node);
}

absl::Status CounterSink::Refresh(const ReleaseOf& release_of) {
  for (const int node : touched_.Take()) {
    const absl::Status set =
        model_->SetReleased(node, WithRelease(contexts_[node], release_of(node)));
    if (!set.ok()) return absl::InternalError(absl::StrCat("node ", node, ": ", set.message()));
  }
  model_->Refresh();
  return absl::OkStatus();
}

}  // namespace bandana

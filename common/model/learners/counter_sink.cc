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

absl::StatusOr<std::unique_ptr<CounterSink>> CounterSink::Create(
    const ModelSpec& spec, const EventPath& path, const ModelState& state,
    std::vector<NodeStatistics> contexts) {
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<BanditModel> model,
                           MakeBandit(spec, state, contexts.size()));
  std::unique_ptr<CounterSink> sink(
      new CounterSink(spec, path, std::move(model), std::move(contexts)));
  std::vector<NodeStatistics> statistics;
  statistics.reserve(static_cast<std::size_t>(sink->nodes()));
  for (int node = 0; node < sink->nodes(); ++node) statistics.push_back(sink->Read(node, state));
  BANDANA_RETURN_IF_ERROR(AsRecovered(sink->model_->Restore(std::move(statistics))));
  return sink;
}

CounterSink::CounterSink(const ModelSpec& spec, const EventPath& path,
                         std::unique_ptr<BanditModel> model, std::vector<NodeStatistics> contexts)
    : CoupledLearner(spec, std::move(model)),
      path_(path),
      contexts_(std::move(contexts)),
      x_(model_->dimension()) {}

NodeStatistics CounterSink::Read(int node, const ModelState& state) const {
  return WithRelease(contexts_[node], path_.ReleaseOf(state, node));
}

absl::Status CounterSink::AddNode() {
  BANDANA_RETURN_IF_ERROR(CoupledLearner::AddNode());
  contexts_.push_back(EmptyStatistics(model_->dimension()));
  return absl::OkStatus();
}

absl::Status CounterSink::ForgetNode(int node) {
  contexts_[node] = EmptyStatistics(model_->dimension());
  return CoupledLearner::ForgetNode(node);
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

absl::Status CounterSink::Refresh(const ModelState& state) {
  for (const int node : touched_.Take()) {
    const absl::Status set = model_->SetReleased(node, Read(node, state));
    if (!set.ok()) return absl::InternalError(absl::StrCat("node ", node, ": ", set.message()));
  }
  model_->Refresh();
  return absl::OkStatus();
}

}  // namespace bandana

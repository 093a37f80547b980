#include "common/model/learners/bandit_sink.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana {

namespace {

// Coupling for a serialized v1::Graph, or the configuration's when empty. Errors: DATA_LOSS does
// not parse; INVALID_ARGUMENT.
absl::StatusOr<Coupling> CouplingOf(const ModelSpec& spec, std::string_view graph) {
  if (graph.empty()) return spec.coupling;
  v1::Graph parsed;
  if (!parsed.ParseFromArray(graph.data(), static_cast<int>(graph.size()))) {
    return DataLoss("the stored graph does not parse");
  }
  return MakeCoupling(spec.config, parsed, spec.public_spec.dimension);
}

}  // namespace

std::shared_ptr<const ServedPosterior> BanditLearner::Show(std::uint64_t version,
                                                           const std::vector<int>& changed) {
  auto shown = model_->Show(version);
  return shown != nullptr ? std::move(shown) : Learner::Show(version, changed);
}

absl::Status CoupledLearner::AddNode() { return model_->AddNode().status(); }

absl::Status CoupledLearner::ForgetNode(int node) {
  const absl::Status forgotten = model_->ForgetNode(node);
  return forgotten.ok() ? forgotten : DataLoss(forgotten.message());
}

absl::Status CoupledLearner::SetGraph(std::string_view graph) {
  BANDANA_ASSIGN_OR_RETURN(Coupling coupling, CouplingOf(spec_, graph));
  return model_->SetCoupling(std::move(coupling));
}

absl::StatusOr<std::unique_ptr<BanditModel>> MakeBandit(const ModelSpec& spec,
                                                        const ModelState& state, std::size_t) {
  BANDANA_ASSIGN_OR_RETURN(const Coupling coupling, CouplingOf(spec, state.graph));
  BanditModel::Options options = spec.bandit;
  // Who becomes a user was decided at admission. Nodes of deleted users are beyond that limit.
  options.nodes_max = kIndependentNodesMax;
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<BanditModel> model,
                           BanditModel::Create(options, coupling));
  model->FadeTo(state.fading.steps());
  return model;
}

BanditSink::BanditSink(const ModelSpec& spec, std::unique_ptr<BanditModel> model)
    : CoupledLearner(spec, std::move(model)),
      features_(static_cast<std::size_t>(kBlockEvents) * model_->dimension()) {}

std::uint64_t BanditSink::events(int node) const {
  std::uint64_t count = model_->events(node);
  for (const Pending& pending : pending_) count += pending.node == node ? 1 : 0;
  return count;
}

void BanditSink::Add(int node, std::string_view features, const Released<double>& reward) {
  const auto d = static_cast<std::size_t>(model_->dimension());
  std::memcpy(features_.data() + pending_.size() * d, features.data(), features.size());
  pending_.push_back({node, reward.value()});
  if (pending_.size() == kBlockEvents) Flush();
}

void BanditSink::Flush() {
  if (pending_.empty()) return;
  const auto d = static_cast<std::size_t>(model_->dimension());
  events_.clear();
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    events_.push_back({.node = pending_[i].node,
                       .features = std::span<const double>(features_).subspan(i * d, d),
                       .reward = pending_[i].reward});
  }
  model_->Apply(events_);
  pending_.clear();
}

absl::Status BanditSink::ForgetNode(int node) {
  Flush();
  return CoupledLearner::ForgetNode(node);
}

void BanditSink::FadeTo(std::uint64_t steps) {
  Flush();
  model_->FadeTo(steps);
}

absl::Status BanditSink::SetGraph(std::string_view graph) {
  Flush();
  return CoupledLearner::SetGraph(graph);
}

}  // namespace bandana

#include "common/model/learners/bandit_sink.h"

#include <cstring>
#include <span>
#include <utility>

#include "common/base/status.h"

namespace bandana {

absl::Status BanditLearner::SetGraph(std::string_view graph) {
  BANDANA_ASSIGN_OR_RETURN(Coupling coupling, CouplingOf(spec_, graph));
  return model_->SetCoupling(std::move(coupling));
}

BanditSink::BanditSink(const ModelSpec& spec, std::unique_ptr<BanditModel> model)
    : BanditLearner(spec, std::move(model)),
      features_(static_cast<std::size_t>(kBlockEvents) * model_->dimension()) {}

std::uint64_t BanditSink::events(int node) const {
  std::uint64_t count = model_->statistics(node).events;
  for (const Pending& pending : pending_) count += pending.node == node ? 1 : 0;
  return count;
}

absl::Status BanditSink::AddNode() { return model_->AddNode().status(); }

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

absl::Status BanditSink::SetGraph(std::string_view graph) {
  Flush();
  return BanditLearner::SetGraph(graph);
}

}  // namespace bandana

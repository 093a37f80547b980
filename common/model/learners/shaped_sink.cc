#include "common/model/learners/shaped_sink.h"

#include <cstring>
#include <numeric>
#include <utility>

#include "common/bandits/shaped.h"
#include "common/bandits/statistics.h"
#include "common/base/status.h"

namespace bandana {

ShapedSink::ShapedSink(const ModelSpec& spec, const EventPath& path,
                       std::vector<NodeStatistics> contexts)
    : spec_(spec),
      path_(path),
      contexts_(std::move(contexts)),
      posteriors_(contexts_.size()),
      x_(spec.bandit.dimension) {
  for (const CouplingComponent& component : spec_.coupling.components()) {
    const std::size_t n = component.nodes.size();
    for (std::size_t i = 0; i < n; ++i) {
      posteriors_[component.nodes[i]] = PriorOf(component.prior[i * n + i]);
    }
  }
}

NodePosterior ShapedSink::PriorOf(double variance_ratio) const {
  const auto d = static_cast<std::size_t>(spec_.bandit.dimension);
  NodePosterior prior{.mean = std::vector<double>(d),
                      .covariance = std::vector<double>(d * d),
                      .alpha = spec_.bandit.exploration.alpha};
  for (std::size_t i = 0; i < d; ++i) {
    prior.covariance[i * d + i] = spec_.bandit.prior_variance * variance_ratio;
  }
  return prior;
}

void ShapedSink::Add(int node, std::string_view features, const Released<double>& reward) {
  std::memcpy(x_.data(), features.data(), features.size());
  AddEvent({.node = node, .features = x_, .reward = reward.value()}, contexts_[node]);
  stale_ = true;
}

void ShapedSink::Join(int node, const NodeStatistics& held) {
  JoinContexts(held, contexts_[node]);
  stale_ = true;
}

std::vector<int> ShapedSink::TakeChangedNodes() {
  std::vector<int> nodes(std::exchange(changed_, false) ? contexts_.size() : 0);
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

absl::Status ShapedSink::Refresh(const ModelState& state) {
  stale_ = false;
  const Released<NodeRelease> released = path_.ReleaseOf(state, 0);
  if (!(released.value().variance > 0)) return absl::OkStatus();  // nothing yet
  if (!state.shape) return absl::InternalError("a release without its shape");
  for (const CouplingComponent& component : spec_.coupling.components()) {
    BANDANA_RETURN_IF_ERROR(RefreshComponent(component, *state.shape, released.value()));
  }
  changed_ = true;
  return absl::OkStatus();
}

absl::Status ShapedSink::RefreshComponent(const CouplingComponent& component,
                                          const UserShape& shape, const NodeRelease& release) {
  const auto d = static_cast<std::size_t>(spec_.bandit.dimension);
  const std::size_t n = component.nodes.size();
  ShapedRelease shaped{.root = RootOf(shape, component.nodes),
                       .values = std::vector<double>(n * d),
                       .variance = release.variance};
  std::vector<NodeStatistics> statistics;
  for (std::size_t u = 0; u < n; ++u) {
    statistics.push_back(contexts_[component.nodes[u]]);
    for (std::size_t i = 0; i < d; ++i) {
      double& value = shaped.values[u * d + i];
      value = release.moment[component.nodes[u] * d + i];
      // The part that mid adds to every reward is public.
      for (std::size_t v = 0; v < n; ++v) {
        value += shaped.root[u * n + v] * contexts_[component.nodes[v]].moment[i];
      }
    }
  }
  auto posteriors = ShapedPosterior(component, spec_.bandit, statistics, shaped);
  if (!posteriors.ok()) return absl::InternalError(posteriors.status().message());
  for (std::size_t u = 0; u < n; ++u) {
    posteriors_[component.nodes[u]] = std::move((*posteriors)[u]);
  }
  return absl::OkStatus();
}

}  // namespace bandana

// Events of a model with one counter over all users: contexts one by one, the whole posterior at
// each refresh.
#pragma once

#include <vector>

#include "common/model/learners/learner.h"
#include "common/model/state/user_shape.h"

namespace bandana {

// Not thread-safe. Cost of a refresh: ShapedPosterior's, 1.7 (n d)^3 multiply-adds a component.
class ShapedSink final : public Learner, public ContextSums {
 public:
  // `contexts`: of every node; their moments are mid sum x. `path` tells of the release. Both
  // `spec` and `path` must outlive the sink. Until Refresh the posterior is the prior.
  ShapedSink(const ModelSpec& spec, const EventPath& path, std::vector<NodeStatistics> contexts);

  int nodes() const override { return static_cast<int>(contexts_.size()); }
  std::uint64_t events(int node) const override { return contexts_[node].events; }
  void Add(int node, std::string_view features, const Released<double>& reward) override;
  void Count(int node) override { ++contexts_[node].events; }
  void Join(int node, const NodeStatistics& held) override;
  void Touch(int) override { stale_ = true; }
  const NodeStatistics& statistics(int node) const override { return contexts_[node]; }

  int dimension() const override { return spec_.bandit.dimension; }
  NodePosterior Prior() const override { return PriorOf(1); }
  NodePosterior Posterior(int node) const override { return posteriors_[node]; }
  std::vector<int> TakeChangedNodes() override;

  bool stale() const override { return stale_; }
  // Reads the release of stream 0.
  absl::Status Refresh(const ModelState& state) override;

 private:
  NodePosterior PriorOf(double variance_ratio) const;
  absl::Status RefreshComponent(const CouplingComponent& component, const UserShape& shape,
                                const NodeRelease& release);

  const ModelSpec& spec_;
  const EventPath& path_;
  std::vector<NodeStatistics> contexts_;
  std::vector<NodePosterior> posteriors_;  // by node
  bool stale_ = false;
  bool changed_ = true;
  std::vector<double> x_;
};

}  // namespace bandana

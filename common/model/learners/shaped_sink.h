// Events of a model with one counter over all users: contexts one by one, the whole posterior at
// each refresh.
#pragma once

#include <optional>
#include <vector>

#include "common/model/learners/learner.h"
#include "common/model/state/user_shape.h"

namespace bandana {

// Not thread-safe. Cost of a refresh: ShapedPosterior's, 1.7 (n d)^3 multiply-adds a component.
class ShapedSink final : public Learner {
 public:
  // `contexts`: of every node; their moments are mid sum x. `spec` must outlive the sink.
  ShapedSink(const ModelSpec& spec, std::optional<UserShape> shape,
             std::vector<NodeStatistics> contexts);

  int nodes() const override { return static_cast<int>(contexts_.size()); }
  std::uint64_t events(int node) const override { return contexts_[node].events; }
  absl::Status AddNode() override;
  void Add(int node, std::string_view features, const Released<double>& reward) override;
  void Hold(int node) override { ++contexts_[node].events; }
  void Join(int node, const NodeStatistics& held) override;
  void Touch(int) override { stale_ = true; }
  const NodeStatistics& statistics(int node) const override { return contexts_[node]; }
  absl::Status SetGraph(std::string_view graph) override;
  void SetShape(const UserShape& shape) override { shape_ = shape; }

  int dimension() const override { return spec_.bandit.dimension; }
  NodePosterior Prior() const override { return PriorOf(1); }
  NodePosterior Posterior(int node) const override { return posteriors_[node]; }
  std::vector<int> TakeChangedNodes() override;
  void Rebuild() override {}  // every refresh does

  bool stale() const override { return stale_; }
  // Reads the release of stream 0.
  absl::Status Refresh(const ReleaseOf& release_of) override;

 private:
  NodePosterior PriorOf(double variance_ratio) const;
  absl::Status RefreshComponent(const CouplingComponent& component, const NodeRelease& release);

  const ModelSpec& spec_;
  std::optional<UserShape> shape_;
  std::vector<NodeStatistics> contexts_;
  std::vector<NodePosterior> posteriors_;  // by node
  bool stale_ = false;
  bool changed_ = true;
  std::vector<double> x_;
};

}  // namespace bandana

// LinUCB with a model for each user.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bandits/model.h"
#include "common/bandits/node_tree.h"
#include "common/bandits/user_node.h"

namespace bandana {

// Independent users: a node of its own for each, added when it is first seen. Learning makes a new
// object for each user with events and touches no other. Not thread-safe; what Show gives is.
class IndependentModel final : public BanditModel {
 public:
  // Errors: INVALID_ARGUMENT on nodes_max; the other options have been checked.
  static absl::StatusOr<std::unique_ptr<BanditModel>> Create(const Options& options);
  // The error where a coupling is to take the place of another, and one is of such users.
  static absl::Status NoGraph();

  int dimension() const override { return options_.dimension; }
  int nodes() const override { return nodes_; }
  std::uint64_t events() const override { return events_; }
  std::uint64_t events(int node) const override;
  const NodeStatistics& statistics(int node) const override;
  // Costs a pointer for each 4096 users, and what SetReleased has left to Refresh.
  std::shared_ptr<const FrozenStatistics> Freeze() override;
  absl::StatusOr<int> AddNode() override;
  absl::Status ForgetNode(int node) override;
  void Apply(std::span<const Event> events) override;
  absl::Status SetReleased(int node, NodeStatistics statistics) override;
  void Refresh() override;
  void Rebuild() override;
  void FadeTo(std::uint64_t steps) override;
  absl::Status Restore(std::vector<NodeStatistics> statistics) override;
  absl::Status SetCoupling(Coupling) override { return NoGraph(); }
  NodePosterior Posterior(int node) const override;
  NodePosterior Prior() const override;
  std::vector<int> TakeChangedNodes() override;
  std::shared_ptr<const ServedPosterior> Show(std::uint64_t version) override;

 private:
  explicit IndependentModel(const Options& options);
  const UserNode& user(int node) const;
  // Statistics of the node that its posterior does not have yet, made of those it has.
  NodeStatistics& Stale(int node);
  void MarkChanged(int node);
  void Put(int node, UserFitter::Node user);
  // The user of each of these sums, by all processors.
  std::vector<UserFitter::Node> FittedInParallel(std::vector<NodeStatistics> statistics) const;

  const Options options_;
  UserFitter fitter_;
  const UserFitter::Node prior_;  // of every user without events
  NodeTree<UserNode> users_;
  int nodes_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t steps_ = 0;              // the present one
  std::map<int, NodeStatistics> stale_;  // by node
  bool all_changed_ = false;
  std::vector<int> changed_;
  std::vector<bool> is_changed_;       // by node
  mutable NodeStatistics statistics_;  // the last that were asked for
};

}  // namespace bandana

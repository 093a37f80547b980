// The posterior of one node (user, or cluster of users) for Select, and the immutable snapshot of
// all nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/ranking/served_posterior.h"

namespace bandana {

// Posterior of one node's parameter. m_u and K_uu of equation (3),
// docs/design/mechanisms.md#one-model-family.
struct NodePosterior {
  std::vector<double> mean;  // m_u, d entries, reward units per feature unit
  // K_uu, d x d, symmetric, full, row-major. Empty where there is none (sparse models): every width
  // is 0.
  std::vector<double> covariance;
  double alpha = 0;  // exploration factor: score = mean + alpha * width
};

// An immutable view of every node at one log position. Copying the tree of pointers is cheap:
// leaves of 64 nodes are shared between consecutive snapshots, so publishing one changed node costs
// O(nodes / 64 + 64). (Independent users: UserSnapshot.) Threads: immutable, share freely through
// std::shared_ptr<const PosteriorSnapshot>.
class PosteriorSnapshot final : public ServedPosterior {
 public:
  // A snapshot of `nodes` equal posteriors at version 0.
  PosteriorSnapshot(int dimension, const NodePosterior& prior, int nodes);

  int dimension() const { return dimension_; }
  int nodes() const override { return nodes_; }
  std::uint64_t version() const override { return version_; }
  // The node's posterior; for node == -1 or beyond nodes() (a user never seen), the prior.
  const NodePosterior& node(int node) const;

  const NodePosterior& Of(const Whom& whom, NodePosterior&) const override {
    return node(whom.node);
  }
  void Score(const Whom& whom, const ArmsOnOffer& arms, NodePosterior& scratch,
             ArmScores& out) const override;
  std::optional<ScoreLaw> Law(const Whom& whom, NodePosterior&) const override {
    return ScoreLaw{.posterior = &node(whom.node)};
  }

  // The next snapshot: `changed[i]` replaces node `indices[i]`; indices may reach past nodes(),
  // which then grows (gaps hold the prior).
  std::shared_ptr<const PosteriorSnapshot> With(std::uint64_t version,
                                                const std::vector<int>& indices,
                                                std::vector<NodePosterior> changed) const;

 private:
  static constexpr int kLeafNodes = 64;
  // Every slot is set, those past nodes() to the prior.
  struct Leaf {
    std::shared_ptr<const NodePosterior> nodes[kLeafNodes];
  };
  PosteriorSnapshot(const PosteriorSnapshot&) = default;
  static std::size_t LeavesFor(int nodes);
  static std::shared_ptr<const Leaf> PriorLeaf(const std::shared_ptr<const NodePosterior>& prior);

  int dimension_ = 0;
  int nodes_ = 0;
  std::uint64_t version_ = 0;
  std::shared_ptr<const NodePosterior> prior_;
  std::vector<std::shared_ptr<const Leaf>> leaves_;
};

}  // namespace bandana

#include "common/ranking/posterior.h"

#include <cstddef>
#include <utility>

#include "common/base/check.h"
#include "common/ranking/scoring.h"

namespace bandana {

PosteriorSnapshot::PosteriorSnapshot(int dimension, const NodePosterior& prior, int nodes)
    : dimension_(dimension), nodes_(nodes), prior_(std::make_shared<const NodePosterior>(prior)) {
  BANDANA_CHECK(nodes >= 0);
  leaves_.assign(LeavesFor(nodes), PriorLeaf(prior_));
}

std::size_t PosteriorSnapshot::LeavesFor(int nodes) {
  return (static_cast<std::size_t>(nodes) + kLeafNodes - 1) / kLeafNodes;
}

std::shared_ptr<const PosteriorSnapshot::Leaf> PosteriorSnapshot::PriorLeaf(
    const std::shared_ptr<const NodePosterior>& prior) {
  auto leaf = std::make_shared<Leaf>();
  for (auto& node : leaf->nodes) node = prior;
  return leaf;
}

const NodePosterior& PosteriorSnapshot::node(int node) const {
  if (node < 0 || node >= nodes_) return *prior_;
  return *leaves_[node / kLeafNodes]->nodes[node % kLeafNodes];
}

std::shared_ptr<const PosteriorSnapshot> PosteriorSnapshot::With(
    std::uint64_t version, const std::vector<int>& indices,
    std::vector<NodePosterior> changed) const {
  BANDANA_CHECK(indices.size() == changed.size());
  std::shared_ptr<PosteriorSnapshot> next(new PosteriorSnapshot(*this));
  next->version_ = version;
  for (int index : indices) {
    BANDANA_CHECK(index >= 0);
    if (index >= next->nodes_) next->nodes_ = index + 1;
  }
  const std::size_t leaves = LeavesFor(next->nodes_);
  if (leaves > leaves_.size()) next->leaves_.resize(leaves, PriorLeaf(prior_));

  std::vector<Leaf*> own(next->leaves_.size(), nullptr);  // leaves that only `next` holds
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::size_t at = indices[i] / kLeafNodes;
    if (own[at] == nullptr) {
      auto copy = std::make_shared<Leaf>(*next->leaves_[at]);
      own[at] = copy.get();
      next->leaves_[at] = std::move(copy);
    }
    own[at]->nodes[indices[i] % kLeafNodes] =
        std::make_shared<const NodePosterior>(std::move(changed[i]));
  }
  return next;
}

void PosteriorSnapshot::Score(const Whom& whom, const ArmsOnOffer& arms, NodePosterior&,
                              ArmScores& out) const {
  ScoreArms(node(whom.node), arms.features, out);
}

}  // namespace bandana

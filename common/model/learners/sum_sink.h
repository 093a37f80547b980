// Models whose whole state is one node of plain sums: what arms and points have in common.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/model/learners/learner.h"

namespace bandana {

// Recovery adds the sums up without knowing the policy that reads them. Not thread-safe.
class SumSink : public Learner, public RewardSums {
 public:
  int nodes() const final { return 1; }
  int dimension() const final { return static_cast<int>(x_.size()); }
  std::uint64_t events(int) const final { return statistics_.events; }
  void Add(int node, std::string_view features, const Released<double>& reward) final;
  const NodeStatistics& statistics(int) const final { return statistics_; }
  NodePosterior Prior() const final { return Posterior(0); }
  std::vector<int> TakeChangedNodes() final;

 protected:
  SumSink(int dimension, NodeStatistics statistics);
  const NodeStatistics& sums() const { return statistics_; }

 private:
  NodeStatistics statistics_;
  std::vector<double> x_;
  bool changed_ = true;
};

// The only node of a recovered model of sums. Errors: DATA_LOSS it has not one.
absl::StatusOr<NodeStatistics> TakeOnlyNode(std::vector<NodeStatistics> statistics);

}  // namespace bandana

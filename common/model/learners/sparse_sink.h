// Events of a sparse model: nothing but their number, and the estimate that its episodes release.
#pragma once

#include <memory>
#include <vector>

#include "common/model/learners/learner.h"

namespace bandana {

// The posterior is the estimate alone: a mean of d numbers, no covariance, alpha 0. Not
// thread-safe.
class SparseSink final : public Learner, public StreamEvents {
 public:
  // `counted`: of the one node, its number of events. `spec` must outlive the sink. Errors:
  // DATA_LOSS another number of nodes.
  static absl::StatusOr<std::unique_ptr<SparseSink>> Create(const ModelSpec& spec,
                                                            const ModelState& state,
                                                            std::vector<NodeStatistics> counted);

  int nodes() const override { return 1; }
  int dimension() const override { return spec_.public_spec.dimension; }
  std::uint64_t events(int) const override { return counted_.events; }
  void Count(int) override { ++counted_.events; }
  void Touch(int) override { moved_ = true; }
  const NodeStatistics& statistics(int) const override { return counted_; }

  NodePosterior Prior() const override;
  NodePosterior Posterior(int) const override { return {.mean = mean_}; }
  std::vector<int> TakeChangedNodes() override;
  // An estimate waits for no refresh.
  void Flush(const ModelState& state) override;

 private:
  SparseSink(const ModelSpec& spec, NodeStatistics counted);
  void Read(const Released<SparseEstimate>& estimate);

  const ModelSpec& spec_;
  NodeStatistics counted_;
  std::vector<double> mean_;  // d
  bool moved_ = false;
  bool changed_ = true;
};

}  // namespace bandana

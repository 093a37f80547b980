#include "common/model/learners/sparse_sink.h"

#include <utility>

#include "common/base/status.h"

namespace bandana {

absl::StatusOr<std::unique_ptr<SparseSink>> SparseSink::Create(
    const ModelSpec& spec, const ModelState& state, std::vector<NodeStatistics> counted) {
  if (counted.size() != 1) return DataLoss("a sparse model has ", counted.size(), " nodes");
  std::unique_ptr<SparseSink> sink(new SparseSink(spec, std::move(counted.front())));
  sink->Read(state.sparse.estimate());
  return sink;
}

SparseSink::SparseSink(const ModelSpec& spec, NodeStatistics counted)
    : spec_(spec), counted_(std::move(counted)), mean_(spec.public_spec.dimension) {}

void SparseSink::Flush(const ModelState& state) {
  if (std::exchange(moved_, false)) Read(state.sparse.estimate());
}

void SparseSink::Read(const Released<SparseEstimate>& estimate) {
  mean_.assign(mean_.size(), 0.0);
  for (const SparseEntry& entry : estimate.value()) mean_[entry.coordinate] = entry.value;
  changed_ = true;
}

NodePosterior SparseSink::Prior() const { return {.mean = std::vector<double>(mean_.size())}; }

std::vector<int> SparseSink::TakeChangedNodes() {
  return std::exchange(changed_, false) ? std::vector<int>{0} : std::vector<int>{};
}

}  // namespace bandana

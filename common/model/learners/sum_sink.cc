#include "common/model/learners/sum_sink.h"

#include <cstring>
#include <utility>

#include "common/bandits/statistics.h"
#include "common/base/status.h"

namespace bandana {

SumSink::SumSink(int dimension, NodeStatistics statistics)
    : statistics_(std::move(statistics)), x_(static_cast<std::size_t>(dimension)) {}

void SumSink::Add(int node, std::string_view features, const Released<double>& reward) {
  std::memcpy(x_.data(), features.data(), features.size());
  AddEvent({.node = node, .features = x_, .reward = reward.value()}, statistics_);
  changed_ = true;
}

std::vector<int> SumSink::TakeChangedNodes() {
  return std::exchange(changed_, false) ? std::vector<int>{0} : std::vector<int>{};
}

absl::StatusOr<NodeStatistics> TakeOnlyNode(std::vector<NodeStatistics> statistics) {
  if (statistics.size() == 1) return std::move(statistics.front());
  return DataLoss("a model of one node has ", statistics.size());
}

}  // namespace bandana

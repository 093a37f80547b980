#include "common/model/state/event_sink.h"

#include <cstring>
#include <utility>

#include "common/bandits/statistics.h"
#include "common/base/status.h"

namespace bandana {

int StatisticsDimension(const ModelSpec& spec) {
  return spec.sparse ? 0 : spec.public_spec.dimension;
}

void JoinContexts(const NodeStatistics& held, NodeStatistics& node) {
  for (std::size_t i = 0; i < node.gram.size(); ++i) node.gram[i] += held.gram[i];
  for (std::size_t i = 0; i < node.moment.size(); ++i) node.moment[i] += held.moment[i];
}

StatisticsSink::StatisticsSink(int dimension, std::vector<NodeStatistics> start)
    : dimension_(dimension), statistics_(std::move(start)), x_(dimension) {}

// Users were admitted under the limit of their time; a lower one only keeps out new ones.
absl::Status StatisticsSink::AddNode() {
  statistics_.push_back(EmptyStatistics(dimension_));
  return absl::OkStatus();
}

void StatisticsSink::Add(int node, std::string_view features, const Released<double>& reward) {
  std::memcpy(x_.data(), features.data(), features.size());
  AddEvent({.node = node, .features = x_, .reward = reward.value()}, statistics_[node]);
}

absl::StatusOr<Coupling> CouplingOf(const ModelSpec& spec, std::string_view graph) {
  if (graph.empty()) return spec.coupling;
  v1::Graph parsed;
  if (!parsed.ParseFromArray(graph.data(), static_cast<int>(graph.size()))) {
    return DataLoss("the stored graph does not parse");
  }
  return MakeCoupling(spec.config, parsed, spec.public_spec.dimension);
}

}  // namespace bandana

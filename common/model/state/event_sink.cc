#include "common/model/state/event_sink.h"

#include <cstring>

#include "common/bandits/fading.h"
#include "common/bandits/statistics.h"
#include "common/base/status.h"

namespace bandana {

namespace {

class CopiedStatistics final : public FrozenStatistics {
 public:
  explicit CopiedStatistics(std::vector<NodeStatistics> statistics)
      : statistics_(std::move(statistics)) {}
  int nodes() const override { return static_cast<int>(statistics_.size()); }
  const NodeStatistics& Of(int node, NodeStatistics&) const override { return statistics_[node]; }

 private:
  const std::vector<NodeStatistics> statistics_;
};

}  // namespace

std::shared_ptr<const FrozenStatistics> EventSink::Freeze() {
  std::vector<NodeStatistics> all;
  all.reserve(static_cast<std::size_t>(nodes()));
  for (int node = 0; node < nodes(); ++node) all.push_back(statistics(node));
  return std::make_shared<CopiedStatistics>(std::move(all));
}

void JoinContexts(const NodeStatistics& held, NodeStatistics& node) {
  for (std::size_t i = 0; i < node.gram.size(); ++i) node.gram[i] += held.gram[i];
  for (std::size_t i = 0; i < node.moment.size(); ++i) node.moment[i] += held.moment[i];
}

void JoinReport(const Released<JointEstimate>& report, NodeStatistics& node) {
  ++node.events;
  JoinContexts({.gram = report.value().gram, .moment = report.value().moment}, node);
}

StatisticsSink::StatisticsSink(int dimension, std::vector<NodeStatistics> start,
                               std::uint64_t steps)
    : dimension_(dimension), statistics_(std::move(start)), steps_(steps), x_(dimension) {}

// Users were admitted under the limit of their time; a lower one only keeps out new ones.
absl::Status StatisticsSink::AddNode() {
  statistics_.push_back(EmptyStatistics(dimension_));
  return absl::OkStatus();
}

absl::Status StatisticsSink::ForgetNode(int node) {
  statistics_[node] = EmptyStatistics(dimension_);
  return absl::OkStatus();
}

void StatisticsSink::Add(int node, std::string_view features, const Released<double>& reward) {
  std::memcpy(x_.data(), features.data(), features.size());
  bandana::FadeTo(steps_, statistics_[node]);
  AddEvent({.node = node, .features = x_, .reward = reward.value()}, statistics_[node]);
}

void StatisticsSink::AddReport(const Released<JointEstimate>& report) {
  FadeReportsTo(steps_, statistics_.front());
  JoinReport(report, statistics_.front());
}

}  // namespace bandana

#include "server/models/points_sink.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "common/bandits/statistics.h"
#include "common/base/check.h"
#include "common/base/status.h"
#include "common/wire/counter_policy.h"
#include "common/wire/points_policy.h"

namespace bandana::server {

absl::StatusOr<std::unique_ptr<PointsSink>> PointsSink::Create(
    const ModelSpec& spec, std::vector<NodeStatistics> statistics) {
  if (statistics.size() != 1) {
    return DataLoss("a model of points has ", statistics.size(), " nodes");
  }
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<ConvexPolicy> policy, MakePointsPolicy(spec));
  std::unique_ptr<PointsSink> sink(
      new PointsSink(std::move(policy), std::move(statistics.front())));
  if (const absl::Status read = sink->Read(); !read.ok()) {
    return DataLoss("the recovered statistics: ", read.message());
  }
  return sink;
}

PointsSink::PointsSink(std::unique_ptr<ConvexPolicy> policy, NodeStatistics statistics)
    : policy_(std::move(policy)),
      statistics_(std::move(statistics)),
      x_(policy_->domain().dimension) {}

absl::Status PointsSink::AddNode() { return Internal("a model of points has one node"); }

absl::Status PointsSink::SetGraph(std::string_view) {
  return Internal("a model of points has no graph");
}

void PointsSink::Add(int node, std::string_view features, const Released<double>& reward) {
  std::memcpy(x_.data(), features.data(), features.size());
  AddEvent({.node = node, .features = x_, .reward = reward.value()}, statistics_);
  changed_ = true;
}

absl::Status PointsSink::Read() const {
  ConvexState state{.vector = statistics_.moment, .events = statistics_.events};
  for (double& value : state.vector) value = -value;
  return policy_->Restore(std::move(state));
}

NodePosterior PointsSink::Posterior(int) const {
  const absl::Status read = Read();
  BANDANA_CHECK(read.ok());  // checked at Create, and events keep the sum finite
  return {.mean = policy_->Center(), .covariance = {}, .alpha = policy_->Distance()};
}

std::vector<int> PointsSink::TakeChangedNodes() {
  return std::exchange(changed_, false) ? std::vector<int>{0} : std::vector<int>{};
}

double PointReward(const ModelSpec& spec, double reward) {
  return reward - RewardCentre(spec.public_spec);
}

bool IsPlayFactor(std::span<const double> features) {
  return std::all_of(features.begin(), features.end(),
                     [](double x) { return std::abs(x) <= kPlayFactorMax; });
}

}  // namespace bandana::server

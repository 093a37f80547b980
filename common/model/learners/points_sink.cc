#include "common/model/learners/points_sink.h"

#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/design/points_policy.h"

namespace bandana {

absl::StatusOr<std::unique_ptr<PointsSink>> PointsSink::Create(
    const ModelSpec& spec, std::vector<NodeStatistics> statistics) {
  BANDANA_ASSIGN_OR_RETURN(NodeStatistics sums, TakeOnlyNode(std::move(statistics)));
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<ConvexPolicy> policy, MakePointsPolicy(spec));
  std::unique_ptr<PointsSink> sink(new PointsSink(std::move(policy), std::move(sums)));
  BANDANA_RETURN_IF_ERROR(AsRecovered(sink->Read()));
  return sink;
}

PointsSink::PointsSink(std::unique_ptr<ConvexPolicy> policy, NodeStatistics statistics)
    : SumSink(policy->domain().dimension, std::move(statistics)), policy_(std::move(policy)) {}

absl::Status PointsSink::Read() const {
  ConvexState state{.vector = sums().moment, .events = sums().events};
  for (double& value : state.vector) value = -value;
  return policy_->Restore(std::move(state));
}

NodePosterior PointsSink::Posterior(int) const {
  const absl::Status read = Read();
  BANDANA_CHECK(read.ok());  // checked at Create, and events keep the sum finite
  return {.mean = policy_->Center(), .covariance = {}, .alpha = policy_->Distance()};
}

}  // namespace bandana

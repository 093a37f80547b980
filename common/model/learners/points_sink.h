// Models of points: a sum of gradient estimates, and where to play next.
#pragma once

#include <memory>
#include <vector>

#include "common/bandits/bco/convex_policy.h"
#include "common/model/learners/sum_sink.h"

namespace bandana {

// An event's features are the gradient factor of its play (ConvexPlay::factor, d numbers), its
// reward is the released one less the middle of the reward range (Family::EventReward). One node
// holds, as a linear model does, S = sum of factor factor' and beta = sum of factor x reward, which
// is the negated sum of the losses' gradient estimates: all that the barrier policy remembers.
//
// Its posterior is what a play is drawn from (PlayOnEllipsoid): the mean is the centre of play, d
// numbers inside the domain, alpha the distance in (0, 1]; there is no covariance.
// Domain, smoothness and horizon may change between two runs: the sum means the same under all.
// Source: [ST11]; [Z20] Algorithm 1, section 3. Not thread-safe.
class PointsSink final : public SumSink {
 public:
  // `spec` must outlive the sink. Errors: INVALID_ARGUMENT as MakePointsPolicy; DATA_LOSS
  // statistics that no events can have.
  static absl::StatusOr<std::unique_ptr<PointsSink>> Create(const ModelSpec& spec,
                                                            std::vector<NodeStatistics> statistics);

  NodePosterior Posterior(int node) const override;

 private:
  PointsSink(std::unique_ptr<ConvexPolicy> policy, NodeStatistics statistics);
  // Hands the sum to the policy.
  absl::Status Read() const;

  const std::unique_ptr<ConvexPolicy> policy_;
};

}  // namespace bandana

// The posterior of one release that covers all users of a component, with noise shaped across them.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bandits/coupling.h"
#include "common/bandits/model.h"
#include "common/ranking/posterior.h"

namespace bandana {

// y = (Q^1/2 (x) I) beta + z, Cov z = variance I. The noise that user space sees, variance
// Q^+ (x) I, is small in the directions in which P says that users agree. Source:
// docs/design/mechanisms.md#noise-shaped-across-users.
struct ShapedRelease {
  std::vector<double> root;    // Q^1/2, n x n row-major, symmetric
  std::vector<double> values;  // y, n x d row-major
  double variance = 0;         // v, accumulated up to this release; (0, 1e30]
};

// The posterior of BanditModel's comment for the component's nodes, in their order, when beta_u is
// known through y alone and S_u exactly:
//   y ~ N(Q^1/2 S theta, R),   R = s2 Q^1/2 S Q^1/2 + v I,   theta ~ N(0, K_0),
//   K = K_0 - K_0 S Q^1/2 (Q^1/2 S K_0 S Q^1/2 + R)^-1 Q^1/2 S K_0,
// in the form that inverts neither Q nor P nor S. `statistics` gives S_u (its moments are not
// read), `options` the dimension, observation_variance, prior_variance and a constant alpha.
// Errors: INVALID_ARGUMENT shapes, values that are not finite, variance.  Threads: pure function.
// Cost: with D = n d rows, 1.9 D^3 multiply-adds and 3 D^2 doubles.
absl::StatusOr<std::vector<NodePosterior>> ShapedPosterior(
    const CouplingComponent& component, const BanditModel::Options& options,
    std::span<const NodeStatistics> statistics, const ShapedRelease& release);

}  // namespace bandana

// [WZ20] Algorithms 1 and 2 and [NR18] as printed: tree noise on b in the papers' coordinates.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "research/lab/recsys20/learner.h"
#include "tools/published/published_noise.h"

namespace bandana::lab {

// theta = A^-1 (b + eta) in R^{dN}, A = lambda I + sum x~ x~', x~ = c_u (x) x; an arm's score is
// x~' theta + alpha sqrt(x~' A^-1 x~). eta is the sum of a binary tree's nodes [CSS11] with noise
// of scale m Delta / eps per node, m = floor(log2 T) + 1:
//   kLocal              one tree per user over its own T / N events, on b_u = c_u (x) beta_u,
//                       Delta = L B |c_u| ([WZ20] Algorithm 2);
//   kCentral            one tree over all T events, on b, Delta = max_u L B |c_u| (Algorithm 1);
//   kIndependent family one tree per user, on its own d entries ([NR18]).
// |c_u| is the norm of a column of W (docs/design/mechanisms.md#where-the-papers-need-repair).
// Label `published`: only the L2-norm reading would be private in real numbers, and neither is in
// doubles.
struct PublishedOptions {
  PublishedNoiseKind noise = PublishedNoiseKind::kCoordinateLaplace;
  double lambda = 0.1;
  double alpha = 0.3;
};
// Errors: INVALID_ARGUMENT, also for more than 2000 rows dN.
absl::StatusOr<std::unique_ptr<Learner>> MakePublished(const World& world,
                                                       const LearnerOptions& options,
                                                       const PublishedOptions& published);

}  // namespace bandana::lab

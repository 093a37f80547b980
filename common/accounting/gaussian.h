// The exact privacy curve of Gaussian releases [BW18] Theorem 8, [DRS22] Corollary 2.13, rounded
// towards more loss.
//
// One release of sensitivity Delta_2 with noise N(0, sigma^2 I) is mu-GDP with mu = Delta_2 /
// sigma; any sequence of such releases, adaptive or not, is GDP with mu = sqrt(sum mu_i^2),
// exactly.
#pragma once

#include "absl/status/statusor.h"
#include "common/accounting/types.h"

namespace bandana {

// The least delta such that mu-GDP implies (epsilon, delta)-DP is
//   delta(eps) = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2).

// The least epsilon such that a release within `variation` of a mu-GDP one is (epsilon, delta)-DP,
// rounded up: the least with delta(epsilon) + (1 + e^epsilon) variation <= delta. The second term
// grows with epsilon, so that there may be none. Proof: docs/privacy/accounting.md. Errors:
// INVALID_ARGUMENT unless mu in [0, 50], delta in (0, 1), variation >= 0; also where no epsilon
// does.
absl::StatusOr<Epsilon> GaussianEpsilon(Mu mu, Delta delta, TotalVariation variation = {});

// The largest mu such that mu-GDP implies (epsilon, delta)-DP, rounded down: sigma = Delta_2 / mu
// is the least noise. Errors: INVALID_ARGUMENT unless epsilon in [0, 1000] and delta in (0, 1).
absl::StatusOr<Mu> CalibrateGaussian(Epsilon epsilon, Delta delta);

// How far `coordinates` discrete Gaussians on a grid, drawn one after the other and added to
// integers that may depend on those before, are from continuous ones of the same sigma that are
// rounded to the grid; sigma_grid = sigma in grid steps:
//   min(0.0202 n, 0.042 sqrt(n)) / sigma_grid^2.
// Proof: docs/privacy/accounting.md. Errors: INVALID_ARGUMENT unless coordinates >= 0 and
// sigma_grid >= 2.
absl::StatusOr<TotalVariation> DiscreteGaussianVariation(long coordinates, double sigma_grid);

// The delta that a one-shot release of `coordinates` discrete Gaussians on a grid adds to the
// continuous curve's at epsilon, sigma_grid = sigma in grid steps: (1 + e^eps) q 0.0202 /
// sigma_grid^2 (total variation between the rounded and the discrete Gaussian). For calibration at
// one epsilon only: it grows with epsilon, so that a sum of releases cannot be read by it. Errors:
// INVALID_ARGUMENT unless sigma_grid >= 2.
absl::StatusOr<Delta> DiscreteGaussianSlack(Epsilon epsilon, long coordinates, double sigma_grid);

}  // namespace bandana

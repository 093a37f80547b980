// Priors that match what an environment draws its users from.
#pragma once

#include <span>

namespace bandana {

// GOBLin's prior is tau^2 (I + weight * Laplacian)^-1.
struct GoblinPrior {
  double laplacian_weight = 1;
  double variance_ratio =
      1;  // tau^2 in units of the variance of an entry of a theta_j before users are mixed
};

// The pair that brings GOBLin's prior closest, in Frobenius norm, to the covariance W' W of the
// users' mixed parameters. `influence` is W and `similarity` the edge weights, n x n row-major.
// Weights are searched on a grid of ratio 2^(1/4) from 2^-6 to 2^10.
GoblinPrior FitGoblinPrior(std::span<const double> influence, std::span<const double> similarity,
                           int users);

// Mean of a user's own prior variance, and of all pairs' covariances, in the same units: the priors
// of one model per user and of one model for all. The latter is at least 1/n of the former because
// W' W is positive semidefinite.
double OwnVarianceRatio(std::span<const double> influence, int users);
double SharedVarianceRatio(std::span<const double> influence, int users);

}  // namespace bandana

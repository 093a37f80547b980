// The parameter as a release of clipped sums shows it: post-processing, it reads nothing else.
#pragma once

#include "common/bandits/sparse/sparse_estimate.h"
#include "common/mechanisms/sparse/sparse_release.h"

namespace bandana {

// The start of the next episode. Public.
struct SparseBelief {
  SparseEstimate estimate;
  double residual_abs_max = 0;  // R: residuals are clipped there
};

struct ResidualUpdateOptions {
  int dimension = 1;             // d: among so many the picked coordinates were largest
  double context_abs_max = 0.5;  // x_max of the release
  double context_stddev = 1;     // of a feature, as public knowledge of the task
  double residual_abs_max = 2;   // R never grows beyond this
};

// Unclipped share at R = one standard deviation of the residuals.
inline constexpr double kShareExpected = 0.683;

// How far theta_j moves, per contribution of u_j, when n rows were summed and a share `unclipped`
// of their residuals was below R: for jointly normal (x_j, residual), E a b = x-slope x b-slope x
// covariance (Stein), so theta_j - estimate_j = u_j x_max R / (n P(|x_j| < x_max) unclipped s^2).
double StepPerContribution(const ResidualUpdateOptions& options, double residual_abs_max,
                           double rows, double unclipped);

// (x . theta)^2 / (8 s^2 |theta|^2) of a row, s the features' standard deviation: the energy that
// is summed. Greedy choices favour long x along theta; elsewhere they leave x alone. 0 where theta
// is.
double PredictionEnergy(const SparseEstimate& estimate, double predicted, double context_stddev);

// One step of the residual iteration on the released coordinates: theta_j moves by its released
// sum, along the estimate by that over the mean energy (a step of 1 would diverge where many arms
// are on offer); entries that noise alone would explain are dropped; R follows what is left of the
// residuals' standard deviation, down to 1/64 of the options' R. A release without coordinates
// moves R alone. `stddev`: SparseRelease::stddev(). Requires release.rows >= 1.
SparseBelief UpdateByResiduals(const SparseBelief& belief, const ReleasedSums& release,
                               double stddev, const ResidualUpdateOptions& options);

}  // namespace bandana

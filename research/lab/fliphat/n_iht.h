// [FLIP] as printed: noisy iterative hard thresholding with Laplace peeling. Label `published`.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/random/real_samplers.h"

namespace bandana::lab {

// Keeps the `sparsity` coordinates of v that are largest in |v| + Laplace(scale), drawn anew for
// every pick, and adds Laplace(scale) to each; the others become 0. [FLIP] Algorithm 1. Errors:
// INVALID_ARGUMENT sparsity outside [1, v.size()], scale not positive; UNAVAILABLE no noise.
absl::Status Peel(std::span<double> v, int sparsity, double scale, RealSampler& sampler);

// lambda 2 sqrt(3 s ln(1/delta)) / epsilon.
double PeelScale(double lambda, int sparsity, Epsilon epsilon, Delta delta);

// The nearest point of the L1 ball, in place (Duchi et al. 2008). Requires radius > 0.
void ProjectOnL1Ball(std::span<double> v, double radius);

struct NoisyIhtOptions {
  int sparsity = 10;
  Epsilon epsilon;
  Delta delta;
  double parameter_l1 = 0;   // b_max = |beta*|_1, > 0; also the ball's radius
  double lambda_factor = 1;  // of the published sensitivity: 1 is the paper's, 13.9 about the true
};

// Rows of one episode.
struct SparseRows {
  int dimension = 0;
  std::vector<double> features;  // n x d
  std::vector<double> rewards;   // n
};

// Algorithm 2 with the constants of the authors' experiments, start 0
// (docs/design/papers.md#constants-of-fliphat): M = floor(0.16 ln(1 + n b_max^2)) steps of eta
// = 1e-4 / n on 2 X'(X theta - y), y clipped to R, each followed by Peel at (epsilon / M, delta /
// M, lambda) and the projection; all zero while M = 0.
//
// Privacy: label `published`, nothing is proven; docs/privacy/fliphat.md says what is missing.
// Errors: INVALID_ARGUMENT an option out of range; UNAVAILABLE no noise.
absl::StatusOr<std::vector<double>> NoisyIht(const SparseRows& rows, const NoisyIhtOptions& options,
                                             RealSampler& sampler);

}  // namespace bandana::lab

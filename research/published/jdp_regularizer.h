// The changing regularizers of [SS18]: what noise a node of the tree gets, how the noisy Gram
// matrix is shifted, and the bounds that the confidence width needs. Pure functions; label
// `published`.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"

namespace bandana {

struct JdpOptions {
  Epsilon epsilon;            // [1e-9, kEpsilonResearchMax]
  Delta delta;                // (0, 1)
  double alpha = 0.05;        // failure probability of the bounds over all rounds, (0, 1)
  int dimension = 0;          // d, [1, kDimensionMax]
  std::uint64_t horizon = 0;  // n rounds, [1, 2^40]
  double context_l2_max = 1;  // L, [1e-9, 1e9]
  double reward_abs_max = 1;  // [1e-9, 1e9]
};

// With probability 1 - alpha / n per round, H the d x d block and h the last column of the noise
// that stands in the statistics, shift included: rho_min I <= H <= rho_max I, |h| in the norm of
// H^-1 at most gamma.
struct Regularizer {
  double shift = 0;  // to add to the diagonal of H once, whatever the round
  double rho_min = 0;
  double rho_max = 0;
  double gamma = 0;
};

// m = 1 + ceil(log2 n), levels of the tree: nodes that one round is part of, and the most that one
// prefix sums.
int JdpLevels(std::uint64_t horizon);

// Shifted Gaussian: each node gets SampleSymmetricGaussian(d + 1, sigma).
struct JdpGaussian {
  int levels = 0;
  double sigma = 0;  // sigma_noise = 4 sqrt(m) L~^2 ln(4/delta) / eps, L~^2 = L^2 + r^2
  Regularizer regularizer;
};
// Source: [SS18] Proposition 11. Errors: INVALID_ARGUMENT.
absl::StatusOr<JdpGaussian> DesignJdpGaussian(const JdpOptions& options);

// Wishart: each node gets SampleWishart(d + 1, k, L~^2). Exactly m matrices must stand in the
// statistics at every round: one of each set bit of t and, for each bit that is not set, one
// that is drawn once and kept. Otherwise the shift makes H negative.
struct JdpWishart {
  int levels = 0;
  std::uint64_t degrees = 0;  // k = d + 1 + ceil(224 m ln(8m/delta) ln(2/delta) / eps^2)
  double variance = 0;        // L~^2
  Regularizer regularizer;
};
// `shifted` is equation (4) of [SS18]: shift = -c. The interval of eigenvalues is Proposition 9's;
// gamma is our derivation, see docs/privacy/published.md. Errors: INVALID_ARGUMENT options, k above
// 2^40, or an epsilon so large that the unshifted rho_min is not positive.
absl::StatusOr<JdpWishart> DesignJdpWishart(const JdpOptions& options, bool shifted);

// beta_t = sigma sqrt(2 ln(2/alpha) + ln det V_t - d ln rho_min) + S sqrt(rho_max) + gamma, the
// weight of the width in round t. Source: [SS18] Proposition 4. Requires rho_min > 0, alpha in
// (0, 1); a negative radicand, which no V_t >= rho_min I has, counts as 0.
struct JdpWidth {
  double reward_stddev = 0;   // sigma of the sub-Gaussian reward noise
  double theta_norm_max = 0;  // S >= |theta*|
  double alpha = 0.05;        // failure probability
  int dimension = 0;          // d
  double log_det = 0;         // ln det V_t
};
double JdpBeta(const JdpWidth& width, const Regularizer& regularizer);

}  // namespace bandana

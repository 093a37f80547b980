// [Z20] Algorithm 5 as printed.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "research/lab/neurips20/context_learner.h"

namespace bandana::lab {

// The device sends x x' + N and r x + n, N symmetric with upper triangle N(0, sigma^2) and n of
// N(0, sigma^2), half of (epsilon, delta) each: sigma = 6 sqrt(2 ln(2.5 / delta)) / epsilon. Then
//   theta_t = (V_t + c_t I)^-1 u_t,   score = x . theta_t + beta_t |x| in the norm of its inverse,
// with c_t = 2 Y_t, Y_t = sigma sqrt(t) (4 sqrt d + 2 ln(2T / alpha)) and beta_t = 2 sigma sqrt(d
// ln T) + (sqrt(3 Y_t) + sigma sqrt(d t / Y_t)) d ln T, alpha = 0.05. Eigenvalues of V_t + c_t I
// below Y_t, which the paper excludes but for a probability alpha, are raised to it and counted.
// Label `published`: the classical calibration is proved for epsilon < 1 only, noise is doubles.
// Source: docs/design/papers.md#constants-of-z20. Errors: INVALID_ARGUMENT.
absl::StatusOr<std::unique_ptr<ContextLearner>> MakePublishedLinear(const ContextTask& task);

// The widths of Algorithms 3 and 5 at round t, and the repair: (V + 2 Y_t I)^-1 of a V of Gaussian
// noise. Shared with Algorithm 3.
struct PublishedWidth {
  double sigma = 0;
  int dimension = 0;
  std::uint64_t horizon = 0;
  double Shift(std::uint64_t round) const;  // Y_t
  double Beta(std::uint64_t round) const;
};
// Sets mean, covariance and alpha of `posterior` from lower-triangle V and u at round t >= 1; true
// if V had to be repaired.
bool SolvePublished(const PublishedWidth& width, std::uint64_t round,
                    const std::vector<double>& gram, const std::vector<double>& moment,
                    NodePosterior& posterior);

}  // namespace bandana::lab

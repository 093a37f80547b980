// [Z20] Algorithm 3, generalized linear bandits, as printed and with noise calibrated to what is
// sent.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "research/lab/neurips20/context_learner.h"

namespace bandana::lab {

enum class GlmCalibration {
  kPublished,  // x x', z x and the gradient / C with a third of (epsilon, delta) each: sigma = 6
               // sqrt(2 ln(3.75 / delta)) / epsilon a coordinate. Label `published`
  kJoint,      // GaussianMechanism on (x x', (gradient / C)): z x = (x x') theta-hat is a function
               // of the first. (epsilon, delta), docs/privacy/joint_gaussian.md
};

// The device sends x x', z x with the relabelled z = x . theta-hat, and the gradient g = (mu(z) -
// r) x of its log-likelihood, perturbed; |g| <= C, C = 1 (logistic) or 2 (linear). The server keeps
// V = sum x x', u = sum z x, takes a step of its own
//   theta-hat <- projection to |theta| <= theta_l2_max of theta-hat - zeta g,
// zeta = theta_l2_max / (C sqrt(T (1 + d sigma^2))), online gradient descent's for noise of that
// size, of the paper's order 1 / sqrt(T), and publishes theta = (V + c_t I)^-1 u with the widths of
// Algorithm 5 (linear_learner.h). Source: docs/design/papers.md#constants-of-z20.
// Errors: INVALID_ARGUMENT.
absl::StatusOr<std::unique_ptr<ContextLearner>> MakePublishedGlm(const ContextTask& task,
                                                                 GlmCalibration calibration);

}  // namespace bandana::lab

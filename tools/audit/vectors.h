// Attacks on the one-shot mechanisms for vectors, and on lies about their sensitivity.
#pragma once

#include "absl/status/statusor.h"
#include "tools/audit/subject.h"

namespace bandana::audit {

// Gaussian mechanism on one number, neighbours apart by the whole sensitivity, calibrated for
// `declared` times that. 1 is the shipped mechanism; 0.95 is sigma x 0.95.
absl::StatusOr<Attack> AttackGaussian(const Claim& claim, double declared);

// The inputs of one run of the joint Gaussian.
struct JointPair {
  double declared = 1;       // sensitivity as declared, in units of the real one
  double features_norm = 1;  // of both feature vectors, as released: above 1 clipping is left out
};
// Gaussian mechanism on phi(x, r), d = 4, on the worst pair of clipped inputs.
absl::StatusOr<Attack> AttackJointGaussian(const Claim& claim, const JointPair& pair);

// Laplace mechanism on `size` numbers, all of them apart, calibrated for their L1 distance (right)
// or for their L2 distance (`size` > 1: wrong).
absl::StatusOr<Attack> AttackLaplace(const Claim& claim, std::size_t size, bool l2_instead_of_l1);

// Laplace mechanism on phi(x, r), d = 2, calibrated for its L1 sensitivity (right) or for its L2
// sensitivity (wrong). The event: every coordinate beyond P's, seen from Q, where the likelihood
// ratio is the largest.
absl::StatusOr<Attack> AttackJointLaplace(const Claim& claim, bool l2_instead_of_l1);

}  // namespace bandana::audit

// Zero-concentrated differential privacy and its tight conversion [CKS20] Corollary 13, rounded
// towards more loss.
#pragma once

#include "absl/status/statusor.h"
#include "common/accounting/types.h"

namespace bandana {

// The conversion: rho-zCDP implies (epsilon, delta)-DP with
//   delta = min over a > 1 of exp((a - 1)(a rho - eps)) (1 - 1/a)^a / (a - 1).
// Any a is valid, so the search for the least may be inexact. rho in [0, 1e6].

// The least epsilon that the conversion gives for this delta, rounded up. delta in (0, 1).
absl::StatusOr<Epsilon> ZcdpEpsilon(Rho rho, Delta delta);

// The largest rho whose conversion at epsilon gives at most delta, rounded down. epsilon in [0,
// 1000], delta in (0, 1).
absl::StatusOr<Rho> CalibrateZcdp(Epsilon epsilon, Delta delta);

// rho of a pure mechanism, eps^2/2, and of a Gaussian one, mu^2/2; rounded up.
Rho RhoOfPure(Epsilon epsilon);
Rho RhoOfGaussian(Mu mu);

}  // namespace bandana

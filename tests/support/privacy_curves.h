// The privacy curves by the plainest route, rounded to nearest: what tests hold the accountant's
// outward rounding and its searches against.
#pragma once

#include "common/accounting/types.h"

namespace bandana::testing {

// The least delta such that mu-GDP implies (epsilon, delta)-DP, from the error function:
//   Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2). mu > 0. Relative error below 1e-13.
double GaussianDelta(Mu mu, Epsilon epsilon);

// The least over a > 1 of exp((a - 1)(a rho - eps)) (1 - 1/a)^a / (a - 1): rho-zCDP implies
// (epsilon, delta)-DP [CKS20]. By golden sections of log(a - 1). rho > 0.
double ZcdpDelta(Rho rho, Epsilon epsilon);

}  // namespace bandana::testing

// How to spread the noise of a central counter over users that resemble each other.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

namespace bandana {

// Q with Q_uu <= 1, n x n row-major, that minimises tr(P Q^-1): the predicted error of a release
// whose noise has covariance Q^-1 across users, each event moving it by at most L B sqrt(Q_uu).
struct NoiseShape {
  std::vector<double> q;
  std::vector<double> root;  // Q^1/2, symmetric
  double error = 0;          // tr(P Q^-1), at least tr(P^1/2)^2 / n; Q = I has tr P
};

// Q = D^-1/2 (D^1/2 P D^1/2)^1/2 D^-1/2 by D <- D o diag(Q) from D = (tr P / n) I:
// docs/design/mechanisms.md#noise-shaped-across-users. P is symmetric positive semidefinite with a
// positive diagonal, n x n; n in [1, 512].
// A millionth of its mean variance is added to P's diagonal, so that Q has full rank (where P has
// not, D can vanish). Ends when the diagonal is 1 within 1e-9, or after 1000 steps, which leaves
// less than 1e-3; then Q is scaled to the bound, which holds whatever the steps reached.
// Errors: INVALID_ARGUMENT shape, values.  Cost: n^3 per step, tens of steps for P of full rank.
absl::StatusOr<NoiseShape> ShapeNoise(const std::vector<double>& p, int n);

}  // namespace bandana

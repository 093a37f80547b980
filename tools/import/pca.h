// Principal components of sparse rows.
#pragma once

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "tools/import/tfidf.h"

namespace bandana {

// Scores of each row of X (n x m) on its first `dimension` principal components, each component
// scaled to unit norm: (X - 1 mu') V Sigma^-1, n x dimension, where mu is the mean row, V the unit
// eigenvectors of (X - 1 mu')' (X - 1 mu') of the largest eigenvalues, largest first, and Sigma^2
// those eigenvalues. The entry of largest magnitude in each eigenvector is positive, so the result
// does not depend on the solver's sign. X stays sparse.
// Errors: INVALID_ARGUMENT unless 1 <= dimension < min(n, m), and when the centred rows span fewer
// than `dimension` directions; INTERNAL the solver did not converge.
absl::StatusOr<Eigen::MatrixXd> PrincipalScores(const SparseRows& rows, int dimension);

}  // namespace bandana

// A parameter vector with few nonzero entries, and the arm that it prefers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace bandana {

struct SparseEntry {
  int coordinate = 0;
  double value = 0;
  friend bool operator==(const SparseEntry&, const SparseEntry&) = default;
};
// Distinct coordinates.
using SparseEstimate = std::vector<SparseEntry>;

// x . theta. Requires every coordinate below x.size(). Cost: O(entries).
double Predict(const SparseEstimate& estimate, std::span<const double> x);

// Position of the arm with the largest prediction among the rows of `features`, n x d row-major;
// equal ones (all, for an empty estimate) are ordered by a hash of (tie_key, position). An arm with
// a prediction that is NaN comes last. Errors: INVALID_ARGUMENT no arm, dimension < 1, features not
// a multiple of it, or an entry beyond it.
absl::StatusOr<int> GreedyArm(const SparseEstimate& estimate, std::span<const double> features,
                              int dimension, std::uint64_t tie_key);

}  // namespace bandana

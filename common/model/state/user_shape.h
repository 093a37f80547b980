// How the noise of one counter over all users is spread across them.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/design/model_spec.h"
#include "common/mechanisms/counters/counter_design.h"

namespace bandana {

// Q^1/2 of docs/design/mechanisms.md#noise-shaped-across-users: an event of user u enters the
// counter as (Q^1/2)_(:,u) (x) x (r - mid). The less two users have in common, the less correlated
// is their noise.
// Computed once per model and kept in its log: another machine may round it differently, and the
// same noise must never meet different increments.
struct UserShape {
  int nodes = 0;
  std::vector<double> root;  // nodes x nodes row-major, symmetric, finite; columns of norm <= 1
};

// The mechanism's shape of each component of the coupling (ShapedCounter::root). Requires a
// mechanism with one counter over all users. Errors: INVALID_ARGUMENT as ShapeNoise.
absl::StatusOr<UserShape> ShapeOf(const ModelSpec& spec);

// Errors: DATA_LOSS another number of nodes or entries, or entries that no shape has.
absl::Status CheckShape(const UserShape& shape, int nodes);

// (Q^1/2)_(:,node) (x) x (r - mid), in the order of the nodes, clipped to the design's grid. With
// |x| <= L and |r - mid| <= B / 2 it is within L B / 2, because column norms are at most 1.
// Requires x of d entries, nodes x d = the grid's dimension.
absl::StatusOr<ClippedIncrement> ShapedIncrement(const UserShape& shape, int node,
                                                 std::span<const double> x, double centred_reward,
                                                 const CounterDesign& design);

// The block of one component's nodes, n x n.
std::vector<double> RootOf(const UserShape& shape, std::span<const int> nodes);

}  // namespace bandana

// How the users of a model lean on each other: the prior coupling P = C C^T of its nodes.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bandits/graph.h"

namespace bandana {

// The prior coupling of one connected component of P: K_0 = prior_variance * P (x) I_d on its
// nodes.
struct CouplingComponent {
  std::vector<int> nodes;  // ascending
  std::vector<double>
      prior;  // P restricted to them, row-major n x n, symmetric positive semidefinite
};

// P as its connected components, in order of their first node. Immutable.
class Coupling {
 public:
  static Coupling Shared();       // N = 1, P = 1
  static Coupling Independent();  // P = I, nodes are added one at a time
  // P = W^T W; for kEdgeWeights, W is the graph with its columns normalised. [WZ20] section 4.
  // Errors: INVALID_ARGUMENT also for a node of degree zero (its column cannot be normalised) and
  // for components too large.
  static absl::StatusOr<Coupling> CoLin(const Graph& graph, int dimension);
  // P = (I + laplacian_weight (D - A))^-1 on kEdgeWeights; the diagonal of the graph does not
  // matter. [WZ20] section 4.
  static absl::StatusOr<Coupling> Goblin(const Graph& graph, double laplacian_weight,
                                         int dimension);

  bool independent() const { return independent_; }
  int nodes() const { return nodes_; }
  std::span<const CouplingComponent> components() const { return components_; }

 private:
  bool independent_ = false;
  int nodes_ = 0;
  std::vector<CouplingComponent> components_;
};

}  // namespace bandana

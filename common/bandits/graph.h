// A weighted graph over nodes (users or clusters of users) and the prior coupling P = C C^T that
// each model derives from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace bandana {

// Square sparse matrix of finite weights >= 0, duplicates summed.
struct Graph {
  enum class Kind {
    kEdgeWeights,  // symmetric, inner edges on the diagonal
    kInfluence,  // W: column u holds how much every node counts for node u; columns sum to 1 within
                 // 1e-9
  };
  struct Entry {
    int row = 0;
    int column = 0;
    double weight = 0;
  };
  Kind kind = Kind::kEdgeWeights;
  int nodes = 0;
  std::vector<Entry> entries;
};

// The positive entries of a dense matrix, row-major nodes x nodes.
Graph DenseGraph(std::span<const double> weights, int nodes, Graph::Kind kind);

// Reads Matrix Market `coordinate real|integer symmetric|general` text. A general file must be
// numerically symmetric for kEdgeWeights. Errors: INVALID_ARGUMENT with the line.
absl::StatusOr<Graph> ParseMatrixMarket(std::string_view text, Graph::Kind kind);
std::string ToMatrixMarket(const Graph& graph);

// Checks shape, range, symmetry or column sums, as the kind demands. Errors: INVALID_ARGUMENT
// naming the node and constraint.
absl::Status ValidateGraph(const Graph& graph);

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

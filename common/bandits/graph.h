// A weighted graph over nodes: users or clusters of users.
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

}  // namespace bandana

#include "common/bandits/graph.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/bandits/graph_internal.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// Symmetry up to what writing and reading decimal numbers may lose.
constexpr double kSymmetryTolerance = 1e-12;
constexpr double kColumnSumTolerance = 1e-9;

absl::Status CheckEntries(const Graph& graph) {
  if (graph.nodes < 1 || graph.nodes > kNodesMax) {
    return InvalidArgument("graph: nodes must be in [1, ", kNodesMax, "], got ", graph.nodes);
  }
  for (const Graph::Entry& e : graph.entries) {
    if (e.row < 0 || e.row >= graph.nodes || e.column < 0 || e.column >= graph.nodes) {
      return InvalidArgument("graph: entry (", e.row, ", ", e.column, ") must lie in ", graph.nodes,
                             " x ", graph.nodes);
    }
    if (!(e.weight >= 0) || !std::isfinite(e.weight)) {
      return InvalidArgument("graph: weight of (", e.row, ", ", e.column,
                             ") must be finite and >= 0, got ", e.weight);
    }
  }
  return absl::OkStatus();
}

double WeightAt(const std::vector<Graph::Entry>& merged, int row, int column) {
  const auto at = std::lower_bound(merged.begin(), merged.end(), Graph::Entry{row, column, 0},
                                   internal::BeforeInMatrix);
  return at != merged.end() && at->row == row && at->column == column ? at->weight : 0;
}

absl::Status CheckSymmetric(const std::vector<Graph::Entry>& merged) {
  for (const Graph::Entry& e : merged) {
    const double mirrored = e.row == e.column ? e.weight : WeightAt(merged, e.column, e.row);
    if (!(std::abs(e.weight - mirrored) <= kSymmetryTolerance * std::max(e.weight, mirrored))) {
      return InvalidArgument("graph: edge weights must be symmetric, but (", e.row, ", ", e.column,
                             ") is ", e.weight, " and (", e.column, ", ", e.row, ") is ", mirrored);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckColumnSums(const std::vector<Graph::Entry>& merged, int nodes) {
  std::vector<double> sums(nodes, 0.0);
  for (const Graph::Entry& e : merged) sums[e.column] += e.weight;
  for (int u = 0; u < nodes; ++u) {
    if (!(std::abs(sums[u] - 1) <= kColumnSumTolerance)) {
      return InvalidArgument("graph: influence column of node ", u, " must sum to 1 within ",
                             kColumnSumTolerance, ", got ", sums[u]);
    }
  }
  return absl::OkStatus();
}

}  // namespace

Graph DenseGraph(std::span<const double> weights, int nodes, Graph::Kind kind) {
  Graph graph{.kind = kind, .nodes = nodes};
  for (int row = 0; row < nodes; ++row) {
    for (int column = 0; column < nodes; ++column) {
      const double weight = weights[static_cast<std::size_t>(row) * nodes + column];
      if (weight > 0) graph.entries.push_back({row, column, weight});
    }
  }
  return graph;
}

namespace internal {

bool BeforeInMatrix(const Graph::Entry& a, const Graph::Entry& b) {
  return a.row != b.row ? a.row < b.row : a.column < b.column;
}

std::vector<Graph::Entry> Merged(const Graph& graph) {
  std::vector<Graph::Entry> sorted;
  sorted.reserve(graph.entries.size());
  for (const Graph::Entry& e : graph.entries) {
    if (e.weight != 0) sorted.push_back(e);
  }
  // Stable, so that duplicates are summed in the order given, on every machine.
  std::stable_sort(sorted.begin(), sorted.end(), BeforeInMatrix);
  std::vector<Graph::Entry> merged;
  for (const Graph::Entry& e : sorted) {
    if (!merged.empty() && merged.back().row == e.row && merged.back().column == e.column) {
      merged.back().weight += e.weight;
    } else {
      merged.push_back(e);
    }
  }
  return merged;
}

}  // namespace internal

absl::Status ValidateGraph(const Graph& graph) {
  BANDANA_RETURN_IF_ERROR(CheckEntries(graph));
  const std::vector<Graph::Entry> merged = internal::Merged(graph);
  for (const Graph::Entry& e : merged) {
    if (!std::isfinite(e.weight)) {
      return InvalidArgument("graph: the summed weight of (", e.row, ", ", e.column,
                             ") must be finite");
    }
  }
  if (graph.kind == Graph::Kind::kInfluence) return CheckColumnSums(merged, graph.nodes);
  return CheckSymmetric(merged);
}

}  // namespace bandana

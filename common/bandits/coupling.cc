// The prior coupling P of each model as its connected components.
#include "common/bandits/coupling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "common/bandits/graph_internal.h"
#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/linalg/symmetric.h"

namespace bandana {
namespace {

using internal::Merged;

// laplacian_weight * degree beyond this leaves the identity in I + weight L fewer than 4 digits of
// a double.
constexpr double kLaplacianMax = 1e12;

// Disjoint sets with path halving.
class Sets {
 public:
  explicit Sets(int n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0); }
  int Find(int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  // The smaller root wins, so a set's root is its first node.
  void Join(int a, int b) {
    a = Find(a);
    b = Find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<int> parent_;
};

// Where a node sits: its component and its position there.
struct Place {
  int component = 0;
  int position = 0;
};

struct Partition {
  std::vector<CouplingComponent> components;  // in order of their first node; priors all zero
  std::vector<Place> places;                  // by node
};

absl::StatusOr<Partition> Divide(Sets& sets, int nodes, int dimension) {
  Partition partition;
  partition.places.resize(nodes);
  for (int u = 0; u < nodes; ++u) {
    const int root = sets.Find(u);
    if (root == u) {
      partition.places[u] = {static_cast<int>(partition.components.size()), 0};
      partition.components.emplace_back();
    }
    const int component = partition.places[root].component;
    std::vector<int>& members = partition.components[component].nodes;
    partition.places[u] = {component, static_cast<int>(members.size())};
    members.push_back(u);
  }
  // Checked before anything quadratic is allocated.
  for (const CouplingComponent& component : partition.components) {
    if (component.nodes.size() * dimension > static_cast<std::size_t>(kComponentRowsMax)) {
      return InvalidArgument("graph: the connected component of node ", component.nodes[0], " has ",
                             component.nodes.size(), " nodes; at dimension ", dimension,
                             " at most ", kComponentRowsMax / dimension,
                             " fit (nodes x dimension <= ", kComponentRowsMax, ")");
    }
  }
  for (CouplingComponent& component : partition.components) {
    component.prior.assign(component.nodes.size() * component.nodes.size(), 0.0);
  }
  return partition;
}

absl::Status CheckDimension(int dimension) {
  if (dimension >= 1 && dimension <= kDimensionMax) return absl::OkStatus();
  return InvalidArgument("dimension must be in [1, ", kDimensionMax, "], got ", dimension);
}

// W: the graph's columns divided by their sums. An influence matrix is W already (its sums are 1
// within 1e-9).
absl::StatusOr<std::vector<Graph::Entry>> NormalisedColumns(const Graph& graph) {
  std::vector<Graph::Entry> w = Merged(graph);
  std::vector<double> sums(graph.nodes, 0.0);
  for (const Graph::Entry& e : w) sums[e.column] += e.weight;
  for (int u = 0; u < graph.nodes; ++u) {
    if (sums[u] == 0)
      return InvalidArgument("graph: node ", u, " has no edges, its column of W cannot sum to 1");
    if (!std::isfinite(sums[u]))
      return InvalidArgument("graph: the weights of node ", u, " must have a finite sum");
  }
  if (graph.kind == Graph::Kind::kInfluence) return w;
  for (Graph::Entry& e : w) e.weight /= sums[e.column];
  return w;
}

}  // namespace

Coupling Coupling::Shared() {
  Coupling coupling;
  coupling.nodes_ = 1;
  coupling.components_.push_back({{0}, {1.0}});
  return coupling;
}

Coupling Coupling::Independent() {
  Coupling coupling;
  coupling.independent_ = true;
  return coupling;
}

absl::StatusOr<Coupling> Coupling::CoLin(const Graph& graph, int dimension) {
  BANDANA_RETURN_IF_ERROR(CheckDimension(dimension));
  BANDANA_RETURN_IF_ERROR(ValidateGraph(graph));
  BANDANA_ASSIGN_OR_RETURN(const std::vector<Graph::Entry> w, NormalisedColumns(graph));

  // P_uv = sum_i w_iu w_iv with w >= 0: u and v touch exactly when a row has both.
  Sets sets(graph.nodes);
  for (std::size_t i = 1; i < w.size(); ++i) {
    if (w[i].row == w[i - 1].row) sets.Join(w[i].column, w[i - 1].column);
  }
  BANDANA_ASSIGN_OR_RETURN(Partition partition, Divide(sets, graph.nodes, dimension));

  for (std::size_t first = 0; first < w.size();) {
    std::size_t end = first;
    while (end < w.size() && w[end].row == w[first].row) ++end;
    CouplingComponent& component =
        partition.components[partition.places[w[first].column].component];
    const std::size_t n = component.nodes.size();
    for (std::size_t a = first; a < end; ++a) {
      double* row = component.prior.data() + partition.places[w[a].column].position * n;
      for (std::size_t b = first; b < end; ++b) {
        row[partition.places[w[b].column].position] += w[a].weight * w[b].weight;
      }
    }
    first = end;
  }

  Coupling coupling;
  coupling.nodes_ = graph.nodes;
  coupling.components_ = std::move(partition.components);
  return coupling;
}

absl::StatusOr<Coupling> Coupling::Goblin(const Graph& graph, double laplacian_weight,
                                          int dimension) {
  BANDANA_RETURN_IF_ERROR(CheckDimension(dimension));
  if (graph.kind != Graph::Kind::kEdgeWeights) {
    return InvalidArgument("graph: GOBLin needs symmetric edge weights, not an influence matrix");
  }
  if (!(laplacian_weight > 0) || !(laplacian_weight <= 1e6)) {
    return InvalidArgument("laplacian_weight must be in (0, 1e6], got ", laplacian_weight);
  }
  BANDANA_RETURN_IF_ERROR(ValidateGraph(graph));

  const std::vector<Graph::Entry> edges = Merged(graph);
  Sets sets(graph.nodes);
  for (const Graph::Entry& e : edges) sets.Join(e.row, e.column);
  BANDANA_ASSIGN_OR_RETURN(Partition partition, Divide(sets, graph.nodes, dimension));

  // I + weight (D - A), from the lower triangle alone so that it is exactly symmetric.
  for (const Graph::Entry& e : edges) {
    if (e.row <= e.column) continue;
    const Place from = partition.places[e.row];
    const int to = partition.places[e.column].position;
    CouplingComponent& component = partition.components[from.component];
    const std::size_t n = component.nodes.size();
    const double weight = laplacian_weight * e.weight;
    component.prior[from.position * n + to] -= weight;
    component.prior[from.position * n + from.position] += weight;
    component.prior[to * n + to] += weight;
  }
  for (CouplingComponent& component : partition.components) {
    const std::size_t n = component.nodes.size();
    for (std::size_t i = 0; i < n; ++i) {
      double& diagonal = component.prior[i * n + i];
      if (!(diagonal <= kLaplacianMax)) {
        return InvalidArgument("graph: laplacian_weight x degree of node ", component.nodes[i],
                               " must be at most ", kLaplacianMax, ", got ", diagonal);
      }
      diagonal += 1;
    }
    InvertInPlace(component.prior, static_cast<int>(n), 1);
  }

  Coupling coupling;
  coupling.nodes_ = graph.nodes;
  coupling.components_ = std::move(partition.components);
  return coupling;
}

}  // namespace bandana

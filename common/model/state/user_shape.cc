#include "common/model/state/user_shape.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "common/base/status.h"
#include "common/design/server_mechanism.h"

namespace bandana {
namespace {

constexpr double kColumnSlack = 1e-9;  // of rounding; increments are clipped in any case

std::size_t At(const UserShape& shape, int row, int column) {
  return static_cast<std::size_t>(row) * shape.nodes + column;
}

}  // namespace

absl::StatusOr<UserShape> ShapeOf(const ModelSpec& spec) {
  const ShapedCounter& counter = *spec.mechanism->shaped();
  UserShape shape{.nodes = spec.coupling.nodes()};
  shape.root.assign(static_cast<std::size_t>(shape.nodes) * shape.nodes, 0.0);
  for (const CouplingComponent& component : spec.coupling.components()) {
    BANDANA_ASSIGN_OR_RETURN(const std::vector<double> root, counter.root(component));
    const std::size_t n = component.nodes.size();
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        shape.root[At(shape, component.nodes[i], component.nodes[j])] = root[i * n + j];
      }
    }
  }
  return shape;
}

absl::Status CheckShape(const UserShape& shape, int nodes) {
  if (shape.nodes != nodes || shape.root.size() != static_cast<std::size_t>(nodes) * nodes) {
    return DataLoss("a shape is of ", shape.nodes, " nodes, the model has ", nodes);
  }
  for (int column = 0; column < nodes; ++column) {
    double squares = 0;
    for (int row = 0; row < nodes; ++row) {
      const double entry = shape.root[At(shape, row, column)];
      squares += entry * entry;
    }
    if (!(squares <= 1 + kColumnSlack)) return DataLoss("a shape's column is longer than 1");
  }
  return absl::OkStatus();
}

// PROOF: shaped begin
absl::StatusOr<ClippedIncrement> ShapedIncrement(const UserShape& shape, int node,
                                                 std::span<const double> x, double centred_reward,
                                                 const CounterDesign& design) {
  std::vector<double> increment(x.size() * shape.nodes);
  for (int u = 0; u < shape.nodes; ++u) {
    const double weight = shape.root[At(shape, u, node)] * centred_reward;
    for (std::size_t i = 0; i < x.size(); ++i) increment[u * x.size() + i] = weight * x[i];
  }
  return ClippedIncrement::Clip(increment, design.grid());
}
// PROOF: shaped end

std::vector<double> RootOf(const UserShape& shape, std::span<const int> nodes) {
  std::vector<double> root;
  root.reserve(nodes.size() * nodes.size());
  for (const int row : nodes) {
    for (const int column : nodes) root.push_back(shape.root[At(shape, row, column)]);
  }
  return root;
}

}  // namespace bandana

#include "common/design/files/graph_proto.h"

#include <cmath>
#include <map>
#include <utility>

#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana {
namespace {

using Weights = std::map<std::pair<int, int>, double>;

absl::StatusOr<Graph::Kind> KindFromProto(v1::Graph::Kind kind) {
  switch (kind) {
    case v1::Graph::KIND_UNSPECIFIED:
    case v1::Graph::EDGE_WEIGHTS:
      return Graph::Kind::kEdgeWeights;
    case v1::Graph::INFLUENCE:
      return Graph::Kind::kInfluence;
    default:
      return InvalidArgument("kind must be EDGE_WEIGHTS or INFLUENCE, got ",
                             static_cast<int>(kind));
  }
}

absl::Status CheckShape(const v1::Graph& proto) {
  if (!proto.file().empty()) return InvalidArgument("file and inline entries exclude each other");
  if (proto.users() < 1 || proto.users() > kNodesMax) {
    return InvalidArgument("users must be in [1, ", kNodesMax, "], got ", proto.users());
  }
  if (proto.rows_size() != proto.columns_size() || proto.rows_size() != proto.weights_size()) {
    return InvalidArgument("rows, columns and weights must be equally long, got ",
                           proto.rows_size(), ", ", proto.columns_size(), " and ",
                           proto.weights_size());
  }
  return absl::OkStatus();
}

absl::StatusOr<Weights> SumEntries(const v1::Graph& proto) {
  Weights weights;
  for (int i = 0; i < proto.rows_size(); ++i) {
    if (proto.rows(i) >= proto.users() || proto.columns(i) >= proto.users()) {
      return InvalidArgument("entry ", i, " at (", proto.rows(i), ", ", proto.columns(i),
                             ") is outside the ", proto.users(), " x ", proto.users(), " matrix");
    }
    if (!(std::isfinite(proto.weights(i)) && proto.weights(i) >= 0)) {
      return InvalidArgument("weights[", i, "] must be finite and at least 0, got ",
                             proto.weights(i));
    }
    weights[{static_cast<int>(proto.rows(i)), static_cast<int>(proto.columns(i))}] +=
        proto.weights(i);
  }
  return weights;
}

void FillMirrored(Weights& weights) {
  Weights mirrored;
  for (const auto& [at, weight] : weights) {
    if (!weights.contains({at.second, at.first})) mirrored[{at.second, at.first}] = weight;
  }
  weights.merge(mirrored);
}

}  // namespace

absl::StatusOr<Graph> GraphFromProto(const v1::Graph& proto) {
  BANDANA_ASSIGN_OR_RETURN(const Graph::Kind kind, KindFromProto(proto.kind()));
  BANDANA_RETURN_IF_ERROR(CheckShape(proto));
  BANDANA_ASSIGN_OR_RETURN(Weights weights, SumEntries(proto));
  if (kind == Graph::Kind::kEdgeWeights) FillMirrored(weights);
  Graph graph{.kind = kind, .nodes = static_cast<int>(proto.users()), .entries = {}};
  graph.entries.reserve(weights.size());
  for (const auto& [at, weight] : weights) graph.entries.push_back({at.first, at.second, weight});
  BANDANA_RETURN_IF_ERROR(ValidateGraph(graph));
  return graph;
}

v1::Graph GraphToProto(const Graph& graph) {
  Weights weights;
  for (const auto& entry : graph.entries) weights[{entry.row, entry.column}] += entry.weight;
  v1::Graph proto;
  proto.set_kind(graph.kind == Graph::Kind::kInfluence ? v1::Graph::INFLUENCE
                                                       : v1::Graph::EDGE_WEIGHTS);
  proto.set_users(graph.nodes);
  for (const auto& [at, weight] : weights) {
    proto.add_rows(at.first);
    proto.add_columns(at.second);
    proto.add_weights(weight);
  }
  return proto;
}

}  // namespace bandana

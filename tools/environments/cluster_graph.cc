#include "tools/environments/cluster_graph.h"

#include <map>
#include <vector>

namespace bandana {

Graph ClusterGraph(std::span<const std::pair<int, int>> friends, std::span<const int> clusters,
                   int count) {
  std::map<std::pair<int, int>, int> counts;
  for (const auto& [a, b] : friends) {
    ++counts[{clusters[a], clusters[b]}];
    if (clusters[a] != clusters[b]) ++counts[{clusters[b], clusters[a]}];
  }
  Graph graph;
  graph.kind = Graph::Kind::kEdgeWeights;
  graph.nodes = count;
  for (const auto& [cell, pairs] : counts) {
    graph.entries.push_back({cell.first, cell.second, static_cast<double>(pairs)});
  }
  return graph;
}

Graph InfluenceOf(const Graph& graph) {
  Graph influence = graph;
  influence.kind = Graph::Kind::kInfluence;
  std::vector<double> sums(graph.nodes, 1);
  for (const Graph::Entry& entry : graph.entries) sums[entry.column] += entry.weight;
  std::vector<bool> has_diagonal(graph.nodes, false);
  for (Graph::Entry& entry : influence.entries) {
    if (entry.row == entry.column && !has_diagonal[entry.column]) {
      has_diagonal[entry.column] = true;
      entry.weight += 1;
    }
    entry.weight /= sums[entry.column];
  }
  for (int node = 0; node < graph.nodes; ++node) {
    if (!has_diagonal[node]) influence.entries.push_back({node, node, 1 / sums[node]});
  }
  return influence;
}

Graph IdentityInfluence(int nodes) {
  Graph identity;
  identity.kind = Graph::Kind::kInfluence;
  identity.nodes = nodes;
  for (int node = 0; node < nodes; ++node) identity.entries.push_back({node, node, 1});
  return identity;
}

}  // namespace bandana

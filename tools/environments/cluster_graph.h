// Graphs of clusters of users, from the friends among the users.
#pragma once

#include <span>
#include <utility>

#include "common/bandits/graph.h"

namespace bandana {

// The kind is kEdgeWeights: friend pairs between clusters, those inside one on the diagonal.
// `friends`: pairs of users, each counted as often as it stands; `clusters`: of each user, in [0,
// count).
Graph ClusterGraph(std::span<const std::pair<int, int>> friends, std::span<const int> clusters,
                   int count);

// CoLin's W: one is added to each diagonal entry of the graph, then each column is divided by its
// sum. The one lets a cluster count for itself even when its users have no friends at all, where a
// plain normalisation would divide by zero. Requires a graph of kind kEdgeWeights.
Graph InfluenceOf(const Graph& graph);

// The graph of kind kInfluence in which every node counts for itself alone: P = I.
Graph IdentityInfluence(int nodes);

}  // namespace bandana

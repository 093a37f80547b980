// Cutting an undirected graph into parts of about equal size with few edges between them.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace bandana {

// The part, in [0, parts), of each of `nodes` nodes: METIS's multilevel k-way cut, all edges and
// nodes of weight 1. The same arguments give the same cut. A part may be empty where the graph is
// small. Seed 0 hands the nodes over in their order, another seed in an order shuffled by it:
// METIS's own seed, which is set too, does nothing below 30 nodes a part, where METIS 5.1 leaves
// out its randomised coarsening.
// Requires edges between different nodes, each once, 0-based. Errors: INVALID_ARGUMENT unless
// 1 <= parts <= nodes; INTERNAL METIS failed.
absl::StatusOr<std::vector<int>> PartitionGraph(int nodes,
                                                std::span<const std::pair<int, int>> edges,
                                                int parts, int seed);

}  // namespace bandana

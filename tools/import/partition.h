// Cutting an undirected graph into parts of about equal size with few edges between them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace bandana {

// A graph that is cut more than once: METIS's multilevel k-way cuts, all edges and nodes of weight
// 1. Equal arguments give equal cuts. Seed 0 hands the nodes over in their order, another seed in
// an order shuffled by it: METIS's own seed, which is set too, does nothing below 30 nodes a part,
// where METIS 5.1 leaves out its randomised coarsening. Not thread-safe: METIS draws from a
// generator of the whole process.
class CutGraph {
 public:
  // Most edges: METIS numbers both ends of each by 32 bits.
  static constexpr std::size_t kEdgesMax = std::size_t{1} << 30;

  // Requires edges between different nodes, each once, 0-based, at most kEdgesMax, and seed >= 0.
  CutGraph(int nodes, std::span<const std::pair<int, int>> edges, int seed);

  int nodes() const { return static_cast<int>(places_.size()); }
  bool HasEdges(int node) const { return offsets_[places_[node]] != offsets_[places_[node] + 1]; }
  // The part, in [0, parts), of each node. A part may be empty where the graph is small. Errors:
  // INVALID_ARGUMENT unless 1 <= parts <= nodes; INTERNAL METIS failed.
  absl::StatusOr<std::vector<int>> Cut(int parts);

 private:
  int seed_;
  std::vector<std::int32_t> places_;   // of each node in the order that METIS sees
  std::vector<std::int32_t> offsets_;  // by place: its neighbours' places in adjacent_
  std::vector<std::int32_t> adjacent_;
};

// CutGraph(nodes, edges, seed).Cut(parts).
absl::StatusOr<std::vector<int>> PartitionGraph(int nodes,
                                                std::span<const std::pair<int, int>> edges,
                                                int parts, int seed);

}  // namespace bandana

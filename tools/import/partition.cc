#include "tools/import/partition.h"

#include <metis.h>

#include <numeric>

#include "common/base/check.h"
#include "common/base/status.h"
#include "tools/environments/random.h"

namespace bandana {
namespace {

// Place of each node in the order that METIS sees.
std::vector<idx_t> PlacesOf(int nodes, int seed) {
  std::vector<idx_t> places(nodes);
  std::iota(places.begin(), places.end(), 0);
  if (seed != 0) {
    SeededStream stream(seed, StreamPurpose::kPermutation, 0);
    Shuffle(stream, std::span(places));
  }
  return places;
}

}  // namespace

absl::StatusOr<std::vector<int>> PartitionGraph(int nodes,
                                                std::span<const std::pair<int, int>> edges,
                                                int parts, int seed) {
  if (parts < 1 || parts > nodes) {
    return InvalidArgument("clusters must be in [1, ", nodes, "], the number of users, got ",
                           parts);
  }
  const std::vector<idx_t> places = PlacesOf(nodes, seed);
  std::vector<std::vector<idx_t>> neighbours(nodes);
  for (const auto& [a, b] : edges) {
    BANDANA_CHECK(a >= 0 && a < nodes);
    BANDANA_CHECK(b >= 0 && b < nodes);
    BANDANA_CHECK(a != b);
    neighbours[places[a]].push_back(places[b]);
    neighbours[places[b]].push_back(places[a]);
  }
  // METIS divides by the number of edges and by the number of parts less one.
  if (edges.empty() || parts == 1) {
    std::vector<int> part(nodes);
    for (int node = 0; node < nodes; ++node) part[node] = node % parts;
    return part;
  }
  std::vector<idx_t> offsets = {0};
  std::vector<idx_t> adjacent;
  for (const std::vector<idx_t>& list : neighbours) {
    adjacent.insert(adjacent.end(), list.begin(), list.end());
    offsets.push_back(static_cast<idx_t>(adjacent.size()));
  }
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = seed;
  options[METIS_OPTION_NUMBERING] = 0;
  idx_t node_count = nodes;
  idx_t constraints = 1;
  idx_t part_count = parts;
  idx_t cut = 0;
  std::vector<idx_t> part(nodes);
  const int result = METIS_PartGraphKway(&node_count, &constraints, offsets.data(), adjacent.data(),
                                         nullptr, nullptr, nullptr, &part_count, nullptr, nullptr,
                                         options, &cut, part.data());
  if (result != METIS_OK) return Internal("METIS could not cut the graph, code ", result);
  std::vector<int> part_of(nodes);
  for (int node = 0; node < nodes; ++node) part_of[node] = part[places[node]];
  return part_of;
}

}  // namespace bandana

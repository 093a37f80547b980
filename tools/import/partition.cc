#include "tools/import/partition.h"

#include <metis.h>

#include <numeric>
#include <type_traits>

#include "common/base/check.h"
#include "common/base/status.h"
#include "tools/environments/random.h"

namespace bandana {

static_assert(std::is_same_v<idx_t, std::int32_t>);

CutGraph::CutGraph(int nodes, std::span<const std::pair<int, int>> edges, int seed)
    : seed_(seed), places_(nodes), offsets_(static_cast<std::size_t>(nodes) + 1) {
  BANDANA_CHECK(edges.size() <= kEdgesMax);
  std::iota(places_.begin(), places_.end(), 0);
  if (seed != 0) {
    SeededStream stream(seed, StreamPurpose::kPermutation, 0);
    Shuffle(stream, std::span(places_));
  }
  for (const auto& [a, b] : edges) {
    BANDANA_CHECK(a >= 0 && a < nodes);
    BANDANA_CHECK(b >= 0 && b < nodes);
    BANDANA_CHECK(a != b);
    ++offsets_[places_[a] + 1];
    ++offsets_[places_[b] + 1];
  }
  std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
  adjacent_.resize(2 * edges.size());
  std::vector<std::int32_t> next(offsets_.begin(), offsets_.end() - 1);
  for (const auto& [a, b] : edges) {
    adjacent_[next[places_[a]]++] = places_[b];
    adjacent_[next[places_[b]]++] = places_[a];
  }
}

absl::StatusOr<std::vector<int>> CutGraph::Cut(int parts) {
  if (parts < 1 || parts > nodes()) {
    return InvalidArgument("clusters must be in [1, ", nodes(), "], the number of users, got ",
                           parts);
  }
  // METIS divides by the number of edges and by the number of parts less one.
  if (adjacent_.empty() || parts == 1) {
    std::vector<int> part(places_.size());
    for (int node = 0; node < nodes(); ++node) part[node] = node % parts;
    return part;
  }
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = seed_;
  options[METIS_OPTION_NUMBERING] = 0;
  idx_t node_count = nodes();
  idx_t constraints = 1;
  idx_t part_count = parts;
  idx_t cut = 0;
  std::vector<idx_t> part(places_.size());
  const int result = METIS_PartGraphKway(&node_count, &constraints, offsets_.data(),
                                         adjacent_.data(), nullptr, nullptr, nullptr, &part_count,
                                         nullptr, nullptr, options, &cut, part.data());
  if (result == METIS_ERROR_MEMORY) {
    return absl::ResourceExhaustedError("METIS has too little memory to cut the graph");
  }
  if (result != METIS_OK) return Internal("METIS could not cut the graph, code ", result);
  std::vector<int> part_of(places_.size());
  for (int node = 0; node < nodes(); ++node) part_of[node] = part[places_[node]];
  return part_of;
}

absl::StatusOr<std::vector<int>> PartitionGraph(int nodes,
                                                std::span<const std::pair<int, int>> edges,
                                                int parts, int seed) {
  return CutGraph(nodes, edges, seed).Cut(parts);
}

}  // namespace bandana

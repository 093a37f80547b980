// A graph of friends to groups of users.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/import/edge_list.h"
#include "tools/import/levels.h"

namespace bandana {

struct GraphImportOptions {
  int dimension = 25;                                // of the models, [1, kDimensionMax]
  int levels = kLevelsDefault;                       // [1, kLevelsMax]
  int seed = 0;                                      // of METIS, >= 0
  std::uint64_t bytes_max = std::uint64_t{4} << 30;  // of the edge list, unpacked
};

struct GraphImport {
  std::vector<std::string> users;  // in the order of the list
  std::vector<LevelOfUsers> levels;
  std::size_t pairs = 0;  // of friends
  EdgeList::Counts counts;
};

// Reads the edge list at `path` (edge_list.h), .gz and .xz included, and cuts it. Deterministic.
// `progress` is told each step when it begins; may be empty. Errors: INVALID_ARGUMENT an option
// out of range, or the list with its line; those of ReadText and CutLevels.
absl::StatusOr<GraphImport> ImportGraph(const std::string& path, const GraphImportOptions& options,
                                        const std::function<void(std::string_view)>& progress);

}  // namespace bandana

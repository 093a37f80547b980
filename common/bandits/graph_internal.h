// Shared by the files that implement graph.h.
#pragma once

#include <vector>

#include "common/bandits/graph.h"

namespace bandana::internal {

// Row by row, columns ascending.
bool BeforeInMatrix(const Graph::Entry& a, const Graph::Entry& b);

// The entries in that order, duplicates summed, zeros dropped.
std::vector<Graph::Entry> Merged(const Graph& graph);

}  // namespace bandana::internal

// Graphs between their wire form and the domain. Sizes are bounded before anything is allocated by
// them.
#pragma once

#include "absl/status/statusor.h"
#include "bandana/v1/config.pb.h"
#include "common/bandits/graph.h"

namespace bandana {

// Inline entries -> Graph. A symmetric kind may list one or both of (i, j) and (j, i); the missing
// one is filled in. Entries that are repeated add up. Errors: INVALID_ARGUMENT naming the array and
// the constraint, ValidateGraph's, or a graph that names a file.
absl::StatusOr<Graph> GraphFromProto(const v1::Graph& proto);

// Every entry inline, in order of (row, column). GraphFromProto of it gives an equal graph.
v1::Graph GraphToProto(const Graph& graph);

}  // namespace bandana

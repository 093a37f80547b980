// SHAPED_COUNTER and POOLED_COUNTER: one counter over all users of a graph.
#pragma once

#include "common/design/server_mechanism.h"

namespace bandana {

// A refresh is dense in nodes x d rows, about a second and 32 MiB at 1024; the shape is found for
// at most 128 users.
inline constexpr int kShapedNodesMax = 128;
inline constexpr int kShapedRowsMax = 1024;

inline constexpr std::string_view kShapedRemark =
    "one counter over all users: the server's log weighs it with the graph\n";
void CheckShapedModel(const ModelSpec& spec, const FieldChecks& checks);
// The shape that ShapeNoise finds for each component.
MadeServerMechanism MakeShapedCounter(const ModelSpec& spec);
// One sum over all users of a component.
MadeServerMechanism MakePooledCounter(const ModelSpec& spec);

}  // namespace bandana

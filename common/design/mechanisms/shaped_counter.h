// SHAPED_COUNTER and POOLED_COUNTER: one counter over all users of a graph.
#pragma once

#include "common/design/mechanism.h"

namespace bandana {

// The shape that ShapeNoise finds for each component.
MadeMechanism MakeShapedCounter(const MechanismRow& row, const ModelSpec& spec);
// One sum over all users of a component.
MadeMechanism MakePooledCounter(const MechanismRow& row, const ModelSpec& spec);

}  // namespace bandana

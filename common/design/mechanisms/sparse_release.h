// SPARSE_RELEASE: a sparse parameter, estimated at the ends of episodes.
#pragma once

#include "common/design/mechanism.h"

namespace bandana {

MadeMechanism MakeSparseRelease(const MechanismRow& row, const ModelSpec& spec);

}  // namespace bandana

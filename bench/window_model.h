// The model whose decisions a device makes.
#pragma once

#include "common/promise/public_spec.h"

namespace bandana::bench {

// Rewards in [0, 1], randomized with an epsilon of 1, of windows of 10 s.
PublicSpec WindowModel(int dimension);

}  // namespace bandana::bench

// [FLIP] Joint differential privacy in high dimension: regret over time, and against the
// dimension, the sparsity and the number of arms.
#pragma once

#include "research/lab/experiment.h"

namespace bandana::lab {

const Suite& FliphatSuite();

}  // namespace bandana::lab

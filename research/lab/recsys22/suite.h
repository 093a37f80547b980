// [WZ22] dynamic global sensitivity: regret, estimation error, epsilon, sensitivity to one reward.
#pragma once

#include "research/lab/experiment.h"

namespace bandana::lab {

const Suite& Recsys22Suite();

}  // namespace bandana::lab

// [SS18] Differentially private contextual linear bandits.
#pragma once

#include "research/lab/experiment.h"

namespace bandana::lab {

const Suite& Neurips18Suite();

}  // namespace bandana::lab

// [Z20] local privacy: contexts (linear, generalized linear), arms, best arm, convex losses.
#pragma once

#include "research/lab/experiment.h"

namespace bandana::lab {

const Suite& Neurips20Suite();

}  // namespace bandana::lab

// [WZ20] Table 1, Figures 1 and 2, and where a counter overtakes the randomizer.
#pragma once

#include "research/lab/experiment.h"

namespace bandana::lab {

const Suite& Recsys20Suite();

}  // namespace bandana::lab

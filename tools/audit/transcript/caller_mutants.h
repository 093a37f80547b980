// Faults by which callers of one principal learn of what another one of them has done.
#pragma once

#include <vector>

#include "tools/audit/transcript/mutants.h"

namespace bandana::audit {

std::vector<Mutant> CallerMutants();

}  // namespace bandana::audit

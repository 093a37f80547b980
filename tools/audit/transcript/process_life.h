// Schedules in which the reaction that differs ends, restarts or suspends the device's process, in
// the world in which it comes: for models whose reports leave at starts alone.
#pragma once

#include <cstdint>

#include "tools/audit/transcript/scenario.h"

namespace bandana::audit {

// Whether the combination's devices can send at starts alone: local models with a window, whose
// selections do not block here.
bool HasProcessLife(const Combination& combination);
// Makes the scenario one of them. Drawn apart from the others: without it they are the same.
void AddProcessLife(std::uint64_t seed, Scenario& scenario);

}  // namespace bandana::audit

// Schedules in which somebody else guesses the name of the decision that differs.
#pragma once

#include "tools/audit/transcript/scenario.h"

namespace bandana::audit {

// Whether its callers choose names of decisions whose contexts are private. Those of Personalizer's
// clients are looked at by its HTTP API.
bool HasGuesser(const Combination& combination);
// The round that differs is asked for under a name that can be guessed. A second caller of the same
// principal then repeats it, with the round of the first world.
void AddGuesser(Scenario& scenario);

}  // namespace bandana::audit

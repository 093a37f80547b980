// REWARD_RANDOMIZER and CENTRED_RANDOMIZER: one reward, one output.
#pragma once

#include "common/promise/mechanism.h"

namespace bandana {

MadeMechanism MakeRewardRandomizer(const MechanismRow& row, const PublicSpec& spec);
// Clips to a window about the posterior's mean (centred_window.h).
// Binary rewards need one bit, which no window makes better.
void CheckCentredPolicy(const PublicSpec& spec, const FieldChecks& checks);
MadeMechanism MakeCentredRandomizer(const MechanismRow& row, const PublicSpec& spec);

}  // namespace bandana

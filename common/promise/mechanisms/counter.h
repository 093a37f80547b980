// COUNTER of rewards: one stream per user, on the device or on the server.
#pragma once

#include "common/promise/mechanism.h"

namespace bandana {

// With B the width of the reward range and L the bound of features, |x (r - mid)|_2 <= L B / 2,
// and replacing the reward of one event (x is public) moves its increment by at most L B: twice the
// norm bound, which is what the counter charges. The whole stream up to steps_max costs the largest
// rho whose tight conversion is within (epsilon, delta). Device and server get the same digest.
MadeMechanism MakeCounter(const MechanismRow& row, const PublicSpec& spec);

}  // namespace bandana

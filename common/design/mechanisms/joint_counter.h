// COUNTER of mode JOINT: noisy sums of contexts and rewards together.
#pragma once

#include "common/design/mechanism.h"

namespace bandana {

MadeMechanism MakeJoint(const MechanismRow& row, const PublicSpec& spec);

}  // namespace bandana

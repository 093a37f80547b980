// COUNTER of mode JOINT: noisy sums of contexts and rewards together.
#pragma once

#include "common/design/server_mechanism.h"

namespace bandana {

MadeServerMechanism MakeJoint(const ModelSpec& spec);

}  // namespace bandana

// The server's side of COUNTER of rewards.
#pragma once

#include "common/design/server_mechanism.h"

namespace bandana {

MadeServerMechanism MakeServerCounter(const ModelSpec& spec);

}  // namespace bandana

// The server's side of the mechanisms for private contexts.
#pragma once

#include "common/design/server_mechanism.h"

namespace bandana {

MadeServerMechanism MakeServerContexts(const ModelSpec& spec);

}  // namespace bandana

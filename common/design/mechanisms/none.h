// The server's side of models without privacy.
#pragma once

#include "common/design/server_mechanism.h"

namespace bandana {

MadeServerMechanism MakeServerNone(const ModelSpec& spec);

}  // namespace bandana

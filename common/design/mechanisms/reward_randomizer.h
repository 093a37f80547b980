// The server's side of REWARD_RANDOMIZER and CENTRED_RANDOMIZER.
#pragma once

#include "common/design/server_mechanism.h"

namespace bandana {

MadeServerMechanism MakeServerRandomizer(const ModelSpec& spec);
MadeServerMechanism MakeServerCentred(const ModelSpec& spec);
// Scales that are learnt set the windows, which clip what they are learnt from.
void CheckCentredModel(const ModelSpec& spec, const FieldChecks& checks);

}  // namespace bandana

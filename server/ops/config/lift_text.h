// How much a policy's decisions will be able to tell, for whoever configures it.
#pragma once

#include <string>

#include "common/design/model_spec.h"

namespace bandana::server {

// The largest weight, and how many decisions a lift of 10 % over uniform takes, of a policy over 10
// arms nine of which bring a tenth of the reward range; or why no lift can be shown. Requires a
// policy, or a decision log.
std::string LiftText(const ModelSpec& spec);

}  // namespace bandana::server

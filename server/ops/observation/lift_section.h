// The part of a model's page that says what the model brings.
#pragma once

#include <string>

#include "server/ops/observation/lift_view.h"

namespace bandana::server {

// Values with their intervals, how long until a lift of 10 % would be seen, and both over time; or
// the sentence that says why there are none. HTML.
std::string LiftSection(const LiftView& lift);

}  // namespace bandana::server

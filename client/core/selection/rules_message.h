// v1.SelectionRules as bytes, coded by hand.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "bandana/rules.h"

namespace bandana::device {

// Errors: INVALID_ARGUMENT a boost, pin or limit that does not name exactly one thing, a rank or
// count below 0. The server checks the rest.
absl::StatusOr<std::string> RulesMessage(const SelectionRules& rules);

}  // namespace bandana::device

// The rule that leaves out the arms that a user was shown, or was rewarded for.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "bandana/v1/rules.pb.h"
#include "server/service/selection.h"

namespace bandana::server {

// Fills `excluded` with the arms that the user has seen within the rule's time. Errors:
// INVALID_ARGUMENT the mode refuses the rule, or its time is out of range; FAILED_PRECONDITION the
// model keeps nothing of the kind.
absl::Status ExcludeSeen(const Selecting& select, const v1::SeenRule& rule,
                         std::vector<std::uint32_t>& excluded);

}  // namespace bandana::server

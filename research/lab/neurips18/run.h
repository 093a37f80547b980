// The rounds of [SS18]'s experiments.
#pragma once

#include "absl/status/statusor.h"
#include "research/lab/cells.h"

namespace bandana::lab {

// Keys: see docs/experiments.md. Errors: INVALID_ARGUMENT a setting or an environment.
absl::StatusOr<CellResult> RunJoint(const Cell& cell);

}  // namespace bandana::lab

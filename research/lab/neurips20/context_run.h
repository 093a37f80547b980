// One run of ldp-linucb or ldp-glm.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "research/lab/cells.h"

namespace bandana::lab {

// The environment of these cells.
inline constexpr std::string_view kContexts = "contexts";

// Algorithms `random`, `linucb` and `glm` (non-private), `ldp-linucb` and `ldp-glm`. Keys: those of
// ContextWorld, `link` (`linear`; `logistic` for the glm algorithms), `alpha` (posterior standard
// deviations of the proven forms) and `draws` (fast, seeds, law). Measure `repairs`: noisy Gram
// matrices made semidefinite. Errors: INVALID_ARGUMENT.
absl::StatusOr<CellResult> RunContexts(const Cell& cell);

}  // namespace bandana::lab

// One run of ldp-bco.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "research/lab/cells.h"

namespace bandana::lab {

// The environment of these cells.
inline constexpr std::string_view kConvex = "convex";

// Algorithms `random` (a uniform point on the sphere of the domain's radius), `ldp-bco` (one point
// on a sphere), `ldp-bco-barrier` (one point on the barrier's ellipsoid) and `ldp-bco-two-point`.
// Keys: `dimension` 2; `domain` ball or box, of radius 1; `loss` cone or quadratic
// (tools/environments/convex_losses.h). The regret of two points is the mean of theirs. Label
// `published` of two points takes the paper's step 1 / sqrt(T) also. Errors: INVALID_ARGUMENT.
absl::StatusOr<CellResult> RunConvex(const Cell& cell);

}  // namespace bandana::lab

// One run of ldp-bai.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "research/lab/cells.h"

namespace bandana::lab {

// The environment of these cells.
inline constexpr std::string_view kBestArm = "best-arm";

// Algorithm `ldp-bai`: lil'UCB until it stops or the horizon ends. Keys: `arms` 10; `gap` 0.3, of
// the best arm to all others (stochastic rewards 0 and 1); `nu` 0.1, the probability of a wrong
// answer; `variant` theory or heuristic. Measures: `stopping_time`, events until it stopped;
// `correct`, 1 where it named the best arm. The regret is that of all events. Errors:
// INVALID_ARGUMENT.
absl::StatusOr<CellResult> RunBestArm(const Cell& cell);

}  // namespace bandana::lab

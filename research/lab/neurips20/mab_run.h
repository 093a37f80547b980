// One run of ldp-mab.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "research/lab/cells.h"

namespace bandana::lab {

// The environment of these cells.
inline constexpr std::string_view kArms = "arms";

// Algorithms `random`, `ldp-mab` (Tsallis-INF) and `ldp-mab-klucb` (KL-UCB on binary releases, UCB
// with a sub-Gaussian bound on Gaussian ones). Keys: `arms` 10; `law` stochastic or adversarial
// (research/lab/neurips20/arm_sequence.h); `gap`, a number or `worst`: the largest regret over the
// gaps f s sqrt(arms / horizon), f = 2, 4, 8, at most 1/2, s^2 the second moment of a release about
// 1/2 (s = 1/2 without privacy). That is where a bound for all worlds is decided: smaller gaps cost
// little, larger ones are found soon. `repeats` (1) runs are averaged at each. Measure `gap`: which
// one it was. Errors: INVALID_ARGUMENT.
absl::StatusOr<CellResult> RunArms(const Cell& cell);

}  // namespace bandana::lab

// One run of linucb-dgs or of what it is compared with.
#pragma once

#include "absl/status/statusor.h"
#include "research/lab/cells.h"

namespace bandana::lab {

// Environments `gaussian` and hetrec folders, as in recsys20. Algorithms `random`, `linucb`,
// `linucb-private` and `linucb-dgs`: `proven` is the counter on b at the server, read through the
// public A_t by the noise-aware posterior, `auto` the planner's choice between it and the reward
// randomizer. Keys beside the environment's: `lambda_0` (least eigenvalue of E[x x'], 1 / d),
// `tree` (known, or hybrid for a horizon that is not), `context_noise` (sigma of Corollary 1: every
// arm's features are moved by N(0, sigma^2 I) before anything sees them, and lambda_0 grows by
// sigma^2), `changed_round` (-1: none): the run is repeated with that round's reward, 0-based,
// moved to the far end of the range. Measures: `theta_error`, the mean over users of |theta-hat -
// theta|_2 with theta the least-squares fit of the expected rewards on offer; `arms_changed`,
// rounds whose arm differs in the repetition, with `changed_round`. Errors: INVALID_ARGUMENT.
absl::StatusOr<CellResult> RunDgs(const Cell& cell);

}  // namespace bandana::lab

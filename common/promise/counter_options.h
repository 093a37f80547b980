// The common part of the counters of rewards: from a policy to a design.
#pragma once

#include <cstddef>

#include "absl/status/statusor.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/promise/public_spec.h"

namespace bandana {

// One stream of `dimension` coordinates of x (r - mid). With B the width of the reward range and L
// the bound of features, |x (r - mid)|_2 <= L B / 2, and replacing the reward of one event (x is
// public) moves its increment by at most L B: twice the norm bound, which is what the counter
// charges. The whole stream up to steps_max costs the largest rho whose tight conversion is within
// (epsilon, delta). Deterministic: device and server get the same digest. Requires spec.counter.
// Errors: INVALID_ARGUMENT the parameters have no design (CounterDesign::Create).
absl::StatusOr<CounterDesign> RewardCounterDesign(const PublicSpec& spec, std::size_t dimension);

}  // namespace bandana

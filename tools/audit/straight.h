// The attack on reports of generalized linear models.
#pragma once

#include "absl/status/statusor.h"
#include "tools/audit/subject.h"

namespace bandana::audit {

// privunit on straightened logistic events, d = 2, rewards in [-1/2, 1/2], public estimate (0, 3):
// P = ((1, 0), 1) keeps its length, Q = ((-1/2, sqrt(3)/2), 1) is shortened. The event: the
// direction lies in P's cap and far from Q, as far as the decoded part of it shows Q's side.
absl::StatusOr<Attack> AttackStraightPrivUnit(const Claim& claim);

}  // namespace bandana::audit

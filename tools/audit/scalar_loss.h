// Attacks on the mechanism of one bounded number.
#pragma once

#include "absl/status/statusor.h"
#include "tools/audit/subject.h"

namespace bandana::audit {

// The Gaussian form on losses far outside their range, which clipping brings to its ends.
// `releases` of one loss are seen: 1 is right; 2 is a retry that draws again.
absl::StatusOr<Attack> AttackScalarLoss(const Claim& claim, int releases);

// The Gaussian form on the normalized difference of two losses, each far steeper than the Lipschitz
// constant says, in opposite directions.
absl::StatusOr<Attack> AttackScalarDifference(const Claim& claim);

}  // namespace bandana::audit

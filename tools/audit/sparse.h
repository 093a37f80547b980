// Attacks on the sparse release of [FLIP] and on the scale that the paper prints for it.
#pragma once

#include "absl/status/statusor.h"
#include "tools/audit/subject.h"

namespace bandana::audit {

// Values and count of an episode of one row, which is replaced by the most distant one; nothing is
// picked, so that all of rho is in the values. `declared`: how far the sums move as declared, in
// units of how far they do; 1 is right.
absl::StatusOr<Attack> AttackSparseRelease(const Claim& claim, double declared);

// One pick among 20: the first score rises by the sensitivity where all others fall by it. The
// event is that the first is picked. `declared`: sensitivity as declared, in units of the real one.
absl::StatusOr<Attack> AttackSelection(const Claim& claim, double declared);

// Mutant: [FLIP]'s peeled values as printed, ten of d = 400 coordinates, on clipped rows at their
// worst. Laplace of scale lambda 2 sqrt(3 s ln(1/0.01)) / epsilon, where the sensitivity is not
// lambda but 4 x_max R / (R + x_max b_max) times that.
absl::StatusOr<Attack> AttackPublishedPeeling(const Claim& claim);

}  // namespace bandana::audit

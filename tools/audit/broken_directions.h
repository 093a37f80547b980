// Mutants of privunit, its loop written out.
#pragma once

#include "absl/status/statusor.h"
#include "tools/audit/subject.h"

namespace bandana::audit {

// The loop that returns on the coin before it computes a direction, on the events of
// AttackPrivUnit, for who can time it: the seed and the number of directions are seen. The event:
// P's cap alone, and a direction was computed. Costs ln(1 + e^eps / (1 - q)).
absl::StatusOr<Attack> AttackTimedDirection(const Claim& claim);

// Statistics that are shorter than sqrt(2) are not lifted to the sphere, on the events of
// AttackStraightPrivUnit: Q's cap is smaller than P's, and Z depends on the event. The event: Q's
// cap alone.
absl::StatusOr<Attack> AttackUnlifted(const Claim& claim);

}  // namespace bandana::audit

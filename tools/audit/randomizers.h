// Attacks on the reward randomizers.
#pragma once

#include "absl/status/statusor.h"
#include "common/mechanisms/reward_randomizer.h"
#include "tools/audit/subject.h"

namespace bandana::audit {

// One reward at either end of its range; the event is all outputs with the largest likelihood
// ratio, read off the published table.
absl::StatusOr<Attack> AttackRandomizer(const Claim& claim, RandomizerKind kind);

// As above for rewards on either side of a narrow window, as the centred randomizer clips them.
absl::StatusOr<Attack> AttackCentredRandomizer(const Claim& claim);

}  // namespace bandana::audit

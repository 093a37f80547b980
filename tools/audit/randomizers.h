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

// Randomized response with the probability of the truth rounded up to a whole percent.
absl::StatusOr<Attack> AttackWholePercent(const Claim& claim);

// One bit for rewards a quarter beyond the range, not clipped.
absl::StatusOr<Attack> AttackUnclippedBit(const Claim& claim);

// The hybrid whose coin between window and bit depends on the reward: the window is 15 % rarer for
// the smallest one.
absl::StatusOr<Attack> AttackWindowShare(const Claim& claim);

// The centred randomizer with a window that depends on the reward: the whole range where the reward
// lies outside the window. Window and output are seen.
absl::StatusOr<Attack> AttackWindowOfReward(const Claim& claim);

}  // namespace bandana::audit

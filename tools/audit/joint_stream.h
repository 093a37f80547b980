// Attacks on the continual counter of joint privacy.
#pragma once

#include "absl/status/statusor.h"
#include "common/mechanisms/counters/counter_kind.h"
#include "tools/audit/subject.h"

namespace bandana::audit {

// JointCounter at d = 3, epochs over 128 events or blt over 16; the first event's (x, r) is
// replaced by one at cos(x, x') = -1/2, which attains the sensitivity 1.5 sqrt 2. All releases are
// seen. The noise is made for `declared` times that sensitivity: 1 is right.
absl::StatusOr<Attack> AttackJointCounter(const Claim& claim, CounterKind kind, double declared);

}  // namespace bandana::audit

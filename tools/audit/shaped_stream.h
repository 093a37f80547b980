// Attack on the stream of one counter over all users, with the keyed noise that a server draws.
#pragma once

#include "absl/status/statusor.h"
#include "tools/audit/subject.h"

namespace bandana::audit {

// Whether the noise's address names the step.
enum class StepAddress {
  kInIt,
  kNone,  // mutant: every step has the same noise; differences of successive releases are seen
};

// 3 users, 16 events of them in turn, increments (Q^1/2)_(:,u) (x) x (r - mid) of
// docs/design/mechanisms.md#noise-shaped-across-users. The first event's reward goes from one end
// of its range to the other. A key of each trial's own;
// the noise of a step is addressed by it, as docs/privacy/central.md says.
absl::StatusOr<Attack> AttackShapedCounter(const Claim& claim,
                                           StepAddress address = StepAddress::kInIt);

}  // namespace bandana::audit

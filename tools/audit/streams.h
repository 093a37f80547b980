// Attacks on whole streams of a continual counter: one increment is replaced by its opposite, and
// everything that the encoder released is weighed together.
#pragma once

#include "absl/status/statusor.h"
#include "common/mechanisms/counters/counter_kind.h"
#include "tools/audit/subject.h"

namespace bandana::audit {

// How the longest column of C is miscounted when the noise is calibrated.
enum class Column {
  kRight,
  kCutShort,      // that of a stream of 2 steps, on a stream that goes on
  kWithoutFirst,  // without its first entry
  kFirstAlone,    // its first entry alone
  kOffByOne,      // of the toeplitz coefficients from the second one on, as many as there are steps
  kOtherTree,     // tree, honaker: of a tree of branching 4
  kUnsplit,       // hybrid: all of the budget in either half
};
// All integers that the encoder released over 16 steps (epochs: 128, hybrid: 15).
absl::StatusOr<Attack> AttackCounter(const Claim& claim, CounterKind kind,
                                     Column column = Column::kRight);
// The decoder's estimate after 16 steps, alone.
absl::StatusOr<Attack> AttackLastEstimate(const Claim& claim, CounterKind kind);
// Mutant: a tree counter that draws a node's noise afresh whenever an estimate needs it.
absl::StatusOr<Attack> AttackFreshNoiseTree(const Claim& claim);

// JointCounter at d = 3, epochs over 128 events or blt over 16; the first event's (x, r) is
// replaced by one at cos(x, x') = -1/2, which attains the sensitivity 1.5 sqrt 2. All releases are
// seen. The noise is made for `declared` times that sensitivity: 1 is right.
absl::StatusOr<Attack> AttackJointCounter(const Claim& claim, CounterKind kind, double declared);

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

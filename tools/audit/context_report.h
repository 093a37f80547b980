// The attack on what a device sends of a model whose contexts are private.
#pragma once

#include "absl/status/statusor.h"
#include "tools/audit/subject.h"

namespace bandana::audit {

// The events of AttackPrivUnit through the SDK's own last step,
// client/core/context_privatizer.h, over a store in memory: the ledger is debited, the
// report drawn and written, and its bytes, those that Submit would carry, are all that the attacker
// reads. Its event is AttackPrivUnit's.
absl::StatusOr<Attack> AttackContextReport(const Claim& claim);

// Mutant: a retry draws again, so that two reports of one event leave; both are seen.
absl::StatusOr<Attack> AttackRedrawnReport(const Claim& claim);

}  // namespace bandana::audit

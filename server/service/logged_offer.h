// The part of a decision that its log keeps: the arms on offer, the law that one was drawn by, and
// what the model expected of each.
#pragma once

#include <span>

#include "common/decisions/stored_decision.h"
#include "common/model/entries/decision.h"
#include "common/ranking/scoring.h"
#include "server/service/arm_set.h"
#include "server/service/policies/choice.h"
#include "server/service/selection.h"

namespace bandana::server {

// Whether the decision becomes a line of its model's log: one that is learnt from.
bool IsLogged(const SelectingModel& model, const v1::SelectRequest& request);

// Fills in arms, laws, predictions, ranks and contexts. `decision` has the arms that go into its
// tokens. Requires a decision that is logged.
void FillOffer(const Selecting& select, const ArmBlock& arms, const ArmScores& scores,
               const Chosen& chosen, const Decision& decision, StoredDecision& out);

// Fills in the rest, of the slots as they are sealed, at least one.
void FillSlots(std::span<const Decision> slots, StoredDecision& out);

}  // namespace bandana::server

// Policies that are given as tables: text with a header, its columns parted by tabs or commas.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/judging/judged_policy.h"

namespace bandana {

// Columns arm, probability and, for lists, slot (from 0; without it each slot has the same): the
// probability of an arm, by id or name, wherever it is on offer. Arms that are not on offer, or
// stand in an earlier slot, leave their part to the others; where none is, the policy chooses
// nothing. `name`: "table:FILE".
// Errors: INVALID_ARGUMENT "NAME: line N: ...", also where a slot's probabilities do not add up to
// 1 within 1e-6. EndOfLog: an arm that was never on offer.
absl::StatusOr<std::unique_ptr<JudgedPolicy>> ReadTablePolicy(std::string_view name,
                                                              std::string_view text);

// Columns decision, arm, probability and, for lists, slot: a law per decision, of any program. Arms
// that are not named have 0. A decision that is not named is left out. `name`: "scores:FILE".
// Errors: as above. Law: FAILED_PRECONDITION an arm that is not on offer.
absl::StatusOr<std::unique_ptr<JudgedPolicy>> ReadScoresPolicy(std::string_view name,
                                                               std::string_view text);

}  // namespace bandana

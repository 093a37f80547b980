// Checks what a logged decision must be so that a policy can be judged by it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/decisions/logged_decision.h"

namespace bandana {

struct DecisionProblem {
  std::string_view reason;  // of skip_reason
  std::string message;      // "p: must add up to 1, got 0.9"; of a list: "slot 2: p: ..."
};

// Nothing where all of this holds, per slot:
// - p and own_law are probabilities that add up to 1 (to at most 1 where the log cut the arms),
//   within kPropensitySumError; that of the chosen arm is above 0, and 1 of a baseline;
// - a known reward lies inside the range, a released one inside its law's.
// Messages hold no reward. Threads: safe.
std::optional<DecisionProblem> CheckDecision(const LoggedDecision& decision);

}  // namespace bandana

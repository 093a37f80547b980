// A decision as a line of Vowpal Wabbit's DSJSON: docs/formats/decisions.md, DSJSON.
#pragma once

#include <string>

#include "common/decisions/logged_decision.h"

namespace bandana {

// Appends the decision's line with its line end: a contextual bandit's, or, of a list, a
// conditional one's with `_slots` and `_outcomes`. Costs are -reward. A decision with a reward that
// is not known has `_skipLearn`, by which VW passes it over. Arms have namespaces `i` (their id or
// name) and `x` (features), the context is the shared namespace `context`. `bandana` has what the
// format does not know: range and release law of the rewards, arms on offer that the log cut,
// predictions.
//
// Shapes: as LoggedSlot says.   Errors: none.   Threads: safe.
// Source: github.com/VowpalWabbit/vowpal_wabbit, wiki page DSJSON, and its JSON parser.
void AppendDsjsonLine(const LoggedDecision& decision, std::string& text);

}  // namespace bandana

// How many decisions it takes until a lift is seen.
#pragma once

#include <optional>
#include <span>

#include "absl/functional/function_ref.h"

namespace bandana {

// The least number of decisions, up to 1 %, from which on `enough` holds; nothing where that is
// above 1e12. `from` >= 1. Requires that it goes on to hold where it does.
std::optional<double> LeastDecisions(double from, absl::FunctionRef<bool(double)> enough);

// Decisions until the anytime interval of a policy's difference to uniform is no wider than
// `sought01` to either side, were all like this one: n arms with this law, every p above 0, and
// expected rewards `mean01`. Both in units of the logged reward's scale, where rewards are 0 or 1.
// `planned`: decisions that the interval is best at. Nothing: more than 1e12.
std::optional<double> DecisionsToSee(std::span<const double> law, std::span<const double> mean01,
                                     double sought01, double planned, double log_threshold);

}  // namespace bandana

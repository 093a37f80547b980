// The rates of an epochs counter with the least error where error counts.
#pragma once

#include "research/tables/rate_search.h"

namespace bandana::tools {

// A posterior built from t events sees noise of variance V_t Delta^2 / mu^2 beside a signal that
// grows as t, over what it knows without them, worth t* events: a step at t weighs 1 / (t^2 +
// t*^2). t* is 80 at epsilon 1, delta 0.1, and 300 at delta 1e-5; in between:
inline constexpr long double kPriorEvents = 150;

// The objective is the mean of V = S^2(inf) sum_{k<e} b_k^2 over the epochs up to 2^30 steps,
// weighted by (length of time that the estimate is in force) / (t^2 + t*^2).
BltRates SearchEpochs(int buffers, const SearchEffort& effort);

}  // namespace bandana::tools

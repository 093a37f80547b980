// The rates of a blt counter with the least largest error at a horizon.
#pragma once

#include <cstdint>

#include "research/tables/rate_search.h"

namespace bandana::tools {

// The objective is S^2(horizon) sum_{k<horizon} b_k^2. horizon >= 100; about a second per 1e5
// iterations.
BltRates SearchBlt(std::uint64_t horizon, int buffers, const SearchEffort& effort);

}  // namespace bandana::tools

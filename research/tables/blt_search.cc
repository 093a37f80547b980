#include "research/tables/blt_search.h"

namespace bandana::tools {

BltRates SearchBlt(std::uint64_t horizon, int buffers, const SearchEffort& effort) {
  const long double steps = static_cast<long double>(horizon);
  return SearchRates(
      [steps](const BltRates& rates) {
        return SquaredColumn(rates, steps) * SquaredRow(rates, steps);
      },
      1.2L / steps, 0.2L, buffers, effort);
}

}  // namespace bandana::tools

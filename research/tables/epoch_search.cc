#include "research/tables/epoch_search.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "common/mechanisms/counters/epoch_schedule.h"

namespace bandana::tools {

BltRates SearchEpochs(int buffers, const SearchEffort& effort) {
  std::vector<long double> weights;  // of the estimate after 1, 2, .. epochs
  long double total = 0;
  for (std::uint64_t end = kFirstEpochEnd; end <= std::uint64_t{1} << 30; end = NextEpochEnd(end)) {
    const long double t = static_cast<long double>(end);
    const long double length = static_cast<long double>(NextEpochEnd(end) - end);
    weights.push_back(length / (t * t + kPriorEvents * kPriorEvents));
    total += weights.back();
  }
  const auto objective = [&](const BltRates& rates) {
    long double sum = 0;
    long double epochs = 0;
    for (const long double weight : weights) sum += weight * SquaredRow(rates, ++epochs);
    return SquaredColumn(rates, std::numeric_limits<long double>::infinity()) * sum / total;
  };
  return SearchRates(objective, 0.02L, 0.4L, buffers, effort);
}

}  // namespace bandana::tools

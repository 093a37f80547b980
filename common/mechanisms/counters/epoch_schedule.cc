#include "common/mechanisms/counters/epoch_schedule.h"

#include <algorithm>

namespace bandana {

std::uint64_t NextEpochEnd(std::uint64_t end) {
  return end + std::max<std::uint64_t>(1, (end + 10) / 20);
}

std::uint64_t EpochsEndedBy(std::uint64_t t) {
  std::uint64_t epochs = 0;
  for (std::uint64_t end = kFirstEpochEnd; end <= t; end = NextEpochEnd(end)) ++epochs;
  return epochs;
}

}  // namespace bandana

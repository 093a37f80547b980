// A run's settings in and its sums out: what the loops of all suites share.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "research/lab/cells.h"
#include "tools/base/settings.h"

namespace bandana::lab {

// The cell's settings, for a suite to take its keys from. Errors: INVALID_ARGUMENT.
absl::StatusOr<Settings> SettingsOf(const Cell& cell);

// One round: expected rewards of the best arm on offer, of the one shown and of a random one, and
// the reward that came.
struct RoundValues {
  double best = 0;
  double shown = 0;
  double mean = 0;
  double reward = 0;
};

// Adds a round, the next of the cell's horizon, to the sums and where a point ends to the curve.
void AddRound(std::uint64_t round, const RoundValues& values, CellResult& result);

}  // namespace bandana::lab

// The reports that a model took, as far as they may be counted.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/time/time.h"

namespace bandana::server {

// The counts of one report, once it is in the log.
struct CountedReport {
  bool reward_clipped = false;  // and may be counted as such
  double reward = 0;            // raw, as it counts; used of non-private models only
  // RewardEvent::place: of a released value.
  std::optional<double> place;
  // Where the caller chose by itself: whether the model would have chosen so, and when that was.
  std::optional<bool> agreed = {};
  absl::Time decided = absl::InfinitePast();
};

// Rewards of a non-private model since the start.
struct RewardTotals {
  std::uint64_t count = 0;
  double sum = 0;  // reward units
};

// Released values since the start by where they lie, of a model whose devices clip to windows.
struct WindowPlaces {
  std::uint64_t below = 0;  // at the window's low end or beyond it
  std::uint64_t inside = 0;
  std::uint64_t above = 0;
};

}  // namespace bandana::server

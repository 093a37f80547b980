// How much past events count in a model that forgets (docs/design/forgetting.md).
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/bandits/model.h"

namespace bandana {

// Time passes in steps, of which a half-life has so many: an event counts 2^(-n / 32) after n
// steps, which is within 2.2 % of 2^(-age / half-life).
inline constexpr int kFadingSteps = 32;

// 2^(-steps / 32), the same bits on every processor; 0 from 64 half-lives on. Threads: pure.
double FadingWeight(std::uint64_t steps);

// S and beta as they count at `steps`, in place. Nothing to do costs nothing. Requires
// steps >= statistics.steps.
void FadeTo(std::uint64_t steps, NodeStatistics& statistics);
// As FadeTo, for sums of noisy reports, whose noise fades with the square of the weight.
void FadeReportsTo(std::uint64_t steps, NodeStatistics& reports);

// Errors: INVALID_ARGUMENT the statistics are of a later step, or have lost more noise than they
// had.
absl::Status CheckSteps(const NodeStatistics& statistics, std::uint64_t present);

}  // namespace bandana

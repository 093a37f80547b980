// Arithmetic on one node's sufficient statistics (NodeStatistics of model.h).
#pragma once

#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "common/bandits/model.h"

namespace bandana {

// Entry (i, j), j <= i, of the packed lower triangle.
inline int PackedIndex(int i, int j) { return i * (i + 1) / 2 + j; }

// Bounds of a statistic's entries, so that products of two are finite, and of variances.
inline constexpr double kEntryMax = 1e100;
inline constexpr double kVarianceMax = 1e30;

// True when every entry is finite and within kEntryMax.
bool EntriesInRange(std::span<const double> entries);
// Errors: INVALID_ARGUMENT the variance is not in [0, kVarianceMax].
absl::Status CheckVariance(std::string_view name, double value);

NodeStatistics EmptyStatistics(int dimension);

// S += x x', beta += x r, events += 1.
void AddEvent(const Event& event, NodeStatistics& statistics);

// Errors: INVALID_ARGUMENT when a shape is wrong, an entry is not finite or beyond 1e100 (products
// of two must be finite), moment_variance is out of range, or S has a 2 x 2 principal minor that no
// sum of x x' has. Never quotes a statistic.
absl::Status ValidateStatistics(const NodeStatistics& statistics, int dimension);

}  // namespace bandana

// Statistics of a model whose contexts stay on the devices: the sum of reports that are noisy in
// x x' and in r x alike.
#pragma once

#include <span>

#include "absl/status/status.h"
#include "common/bandits/noisy_gram.h"
#include "common/mechanisms/joint_statistic.h"

namespace bandana {

// The sum of no reports.
NoisyStatistics NoReports(int dimension);

// Adds one decoded report, unbiased estimates of x x' (lower triangle row by row) and of r x, and
// its variances. Reports of different mechanisms may be added up. The order of reports matters only
// to rounding.
// Errors: INVALID_ARGUMENT a shape, an entry that is not finite or beyond 1e100, a variance outside
// [0, 1e30]; then nothing changed. Never quotes an entry. Cost: O(d^2). Threads: pure function.
absl::Status AddReport(std::span<const double> gram, std::span<const double> moment,
                       const ReportVariance& variance, NoisyStatistics& sum);

}  // namespace bandana

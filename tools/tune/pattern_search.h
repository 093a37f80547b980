// The greatest value of a function of a few positive numbers.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"

namespace bandana {

struct SearchResult {
  std::vector<double> at;
  double value = 0;
  int evaluations = 0;
};

// Coordinate search on logarithms [HJ61]: from `start`, each number in turn is multiplied and
// divided by a factor, and stays where the value grows; where none does the factor becomes its
// square root, from 4 down to 2^(1/8). Ends after `evaluations_max` evaluations as well. Errors:
// those of the function.
absl::StatusOr<SearchResult> MaximizeByPattern(
    const std::vector<double>& start, int evaluations_max,
    const std::function<absl::StatusOr<double>(const std::vector<double>&)>& function);

}  // namespace bandana

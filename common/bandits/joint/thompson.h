// Thompson draws: a parameter from the posterior instead of its mean, so that a policy whose
// posterior stands still for a while does not play one arm all that while.
#pragma once

#include <span>
#include <vector>

#include "common/ranking/posterior.h"

namespace bandana {

// theta = m + stddevs L z with L L' = K and z standard normal. Made of released numbers and of
// randomness that knows no data: post-processing. Threads: const methods are safe.
class ThompsonSampler {
 public:
  // `stddevs` >= 0 scales the posterior's standard deviation. K is positive semidefinite, as every
  // posterior's; a pivot that rounding made negative counts as 0. Cost: d^3 / 6.
  ThompsonSampler(const NodePosterior& posterior, double stddevs);

  // One draw; `normals` and `theta` have d entries. Cost: d^2 / 2.
  void Draw(std::span<const double> normals, std::span<double> theta) const;

 private:
  std::vector<double> mean_;
  std::vector<double> factor_;  // stddevs L, lower triangle row by row
};

}  // namespace bandana

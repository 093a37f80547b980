// The observation that one node's statistics make of its parameter: a Gaussian in information form.
#pragma once

#include <cstdint>
#include <vector>

#include "common/bandits/model.h"

namespace bandana {

// H_u = S R^-1 S and h_u = S R^-1 beta with R = s2 S + v I: equation (5),
// docs/design/mechanisms.md#noise-aware-posterior.
struct EffectiveStatistics {
  std::vector<double> information;  // H_u, lower triangle row by row, d (d + 1) / 2
  std::vector<double> shift;        // h_u, d
  std::uint64_t events = 0;
};

// With v = moment_variance = 0: H = S / s2 and h = beta / s2, S of any rank. With v > 0: R is
// factored, R = L L', and H = (L^-1 S)' (L^-1 S), h = (L^-1 S)' L^-1 beta; S is not inverted.
// Without events both are zero.
// Expects statistics that ValidateStatistics accepts. Cost: O(d^2), 7/6 d^3 multiply-adds for v >
// 0. Threads: pure function.
EffectiveStatistics Effective(const NodeStatistics& statistics, double observation_variance);

}  // namespace bandana

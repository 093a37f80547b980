// Buffered linear Toeplitz factors of the prefix-sum matrix [BLT24]: A = B C, all three lower
// triangular and Toeplitz, C and its inverse each run with one buffer a decay rate.
//   C:     c_0 = 1, c_k = sum_i w_i theta_i^(k-1)
//   C^-1:  the same form with theta'_i, w'_i
//   B:     b_k = sum_{j<=k} (C^-1)_j = 1 + sum_i w'_i (1 - theta'_i^k) / (1 - theta'_i)
// with generating function C(x) = prod_i (1 - theta'_i x) / (1 - theta_i x), interlaced
// 1 > theta_1 > theta'_1 > theta_2 > ... > 0. Rates are kept as 1 - theta, because the slow ones
// are within 1e-6 of 1. Under the interlacing all w_i > 0 and all w'_i < 0, so every sum below has
// terms of one sign and a relative error of about 1e-14.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace bandana {

// For `steps` below: the limit of infinitely many steps.
inline constexpr std::uint64_t kUnboundedSteps = std::numeric_limits<std::uint64_t>::max();

struct Blt {
  std::vector<double> decay;           // 1 - theta_i, ascending, in (0, 1)
  std::vector<double> weight;          // w_i > 0
  std::vector<double> inverse_decay;   // 1 - theta'_i, ascending, in (0, 1)
  std::vector<double> inverse_weight;  // w'_i < 0
};

// w_i = prod_j (theta_i - theta'_j) / prod_{j != i} (theta_i - theta_j); with the arguments
// exchanged, w'_i. Both of one length >= 1, entries of `decay` distinct.
std::vector<double> BltWeights(std::span<const double> decay,
                               std::span<const double> inverse_decay);

// sum_{k<steps} c_k^2: the squared norm of C's first and largest column over `steps` >= 1 steps.
//   S^2(n) = 1 + sum_ij w_i w_j (1 - (theta_i theta_j)^(n-1)) / (1 - theta_i theta_j)
double BltSquaredSensitivity(std::span<const double> decay, std::span<const double> weight,
                             std::uint64_t steps);

// sum_{k<t} b_k^2: the squared norm of B's row t, 1 <= t < kUnboundedSteps.
double BltSquaredRow(const Blt& blt, std::uint64_t t);

}  // namespace bandana

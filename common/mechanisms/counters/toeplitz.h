// The square root of the prefix-sum matrix [FHU23, DMR22]: A = F F, F lower triangular Toeplitz
// with f_0 = 1, f_k = f_{k-1} (2k - 1) / (2k). The best Toeplitz factors for the largest error, at
// the price of a memory as long as the stream: the yardstick of the others.
#pragma once

#include <cstdint>

namespace bandana {

// sum_{k<n} f_k^2, n >= 1: the squared norm of F's first column and of its n-th row. Relative error
// below 1e-12. Cost: O(1) from n = 4096, where the expansion of the Landau constants takes over:
//   (ln n + Euler's gamma + 4 ln 2 - 1/(4n) + 5/(192 n^2)) / pi.
double ToeplitzSquaredSum(std::uint64_t n);

}  // namespace bandana

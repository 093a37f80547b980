// How noisy a counter's estimate of a prefix sum will be, before a single step is taken.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"

namespace bandana {

enum class CounterKind {
  kTree,      // binary tree of noisy partial sums [CSS11]
  kHonaker,   // the tree's releases, combined bottom-up [H15]
  kToeplitz,  // toeplitz.h
  kBlt,       // blt.h, with the table of blt_tables.h whose design horizon covers `horizon`
  kHybrid,    // one tree a doubling of the stream beside the doublings' sums, no horizon [CSS11]
};

// V_t: the variance of one coordinate of the estimate at step t, in units of (sensitivity / mu)^2,
// when a stream of up to `horizon` steps is to cost mu (rho = mu^2 / 2). 1 <= t <= horizon <= 2^40.
//   tree      L popcount(t), L = floor(log2 horizon) + 1
//   honaker   L sum over the set bits l of t of 2^l / (2^(l+1) - 1)
//   toeplitz  (sum_{k<horizon} f_k^2) (sum_{k<t} f_k^2)
//   blt       S^2(horizon) sum_{k<t} b_k^2
//   hybrid    2 k + 2 (k + 1) popcount(t + 1 - 2^k), k = floor(log2(t + 1)): half of rho for the
//             sums of the k finished doublings (step 2^j to 2^(j+1) - 1), half for the trees inside
// Errors: INVALID_ARGUMENT t or horizon out of range.
absl::StatusOr<double> VarianceFactor(CounterKind kind, std::uint64_t horizon, std::uint64_t t);

// V_t Delta^2 / mu^2, in the squared units of the sensitivity.
double PredictedVariance(double variance_factor, L2Sensitivity sensitivity, Mu mu);

}  // namespace bandana

// Closed forms of the counters that the product does not need: what tests compare it with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/mechanisms/counters/blt.h"
#include "common/mechanisms/counters/counter_kind.h"

namespace bandana::testing {

// V_t: the variance of one coordinate of the estimate at step t, in units of (sensitivity / mu)^2,
// when a stream of up to `horizon` steps costs mu (rho = mu^2 / 2). 1 <= t <= horizon <= 2^40.
//   tree      L popcount(t), L = floor(log2 horizon) + 1
//   honaker   L sum over the set bits l of t of 2^l / (2^(l+1) - 1)
//   toeplitz  (sum_{k<horizon} f_k^2) (sum_{k<t} f_k^2)
//   blt       S^2(horizon) sum_{k<t} b_k^2
//   epochs    S^2(K) sum_{k<e} b_k^2 for the K epochs that end by the horizon, e of them by t (the
//             estimate covers these); 0 for e = 0
//   hybrid    2 k + 2 k popcount(t + 1 - 2^k), k = floor(log2(t + 1)): half of rho for the sums of
//             the k finished doublings (step 2^j to 2^(j+1) - 1), half for the k levels of the tree
//             inside the one that runs
double VarianceFactor(CounterKind kind, std::uint64_t horizon, std::uint64_t t);

// The factors with these rates, both ascending, of one length >= 1, interlaced as in blt.h.
Blt MakeBlt(std::vector<double> decay, std::vector<double> inverse_decay);

// c_k and b_k of blt.h.
double BltEncoderCoefficient(const Blt& blt, std::uint64_t k);
double BltDecoderCoefficient(const Blt& blt, std::uint64_t k);

// The squared norm of sum_{j<k} (C's column shifted by j separation), over infinitely many steps:
// the squared sensitivity, for a unit change each, of `participations` >= 1 events of one person
// that lie at least `separation` >= 1 steps apart ([BLT24] Theorem 2; c is non-negative and
// non-increasing, so the closest packing is the worst). With the autocorrelation
//   G(0) = S^2(inf), G(m) = sum_i w_i theta_i^(m-1) + sum_il w_i w_l theta_i^m/(1-theta_i theta_l)
// it is k G(0) + 2 sum_{j<k} (k - j) G(j separation). Cost: O(participations x buffers).
double BltUserSquaredSensitivity(std::span<const double> decay, std::span<const double> weight,
                                 std::uint64_t participations, std::uint64_t separation);

// As above for the first column of toeplitz.h over n steps; events past n count nothing. Cost: O(n
// participations).
double ToeplitzUserSquaredSensitivity(std::uint64_t n, std::uint64_t participations,
                                      std::uint64_t separation);

}  // namespace bandana::testing

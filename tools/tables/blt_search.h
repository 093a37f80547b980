// The rates of a blt counter with the least largest error at a horizon.
#pragma once

#include <cstdint>
#include <vector>

namespace bandana::tools {

struct BltRates {
  std::vector<long double> decay;          // 1 - theta_i, ascending
  std::vector<long double> inverse_decay;  // 1 - theta'_i, ascending, interlaced with decay
  long double variance_factor = 0;         // S^2(horizon) sum_{k<horizon} b_k^2
};

struct BltSearchEffort {
  int restarts = 12;
  int iterations = 20000;  // each
};

// 2 <= buffers <= 6, horizon >= 100. Deterministic; about a second per 1e5 iterations.
BltRates SearchBlt(std::uint64_t horizon, int buffers, const BltSearchEffort& effort);

// w_i in long double; as BltWeights of common/mechanisms/counters/blt.h.
std::vector<long double> WeightsOf(const std::vector<long double>& decay,
                                   const std::vector<long double>& inverse_decay);

}  // namespace bandana::tools

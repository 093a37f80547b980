// The rates of a buffered linear Toeplitz factorization that minimise an objective.
#pragma once

#include <functional>
#include <vector>

namespace bandana::tools {

struct BltRates {
  std::vector<long double> decay;          // 1 - theta_i, ascending
  std::vector<long double> inverse_decay;  // 1 - theta'_i, ascending, interlaced with decay
  long double objective = 0;
};

struct SearchEffort {
  int restarts = 12;
  int iterations = 20000;  // each
};

// Starts from rates spread evenly in the logarithm over [slowest, fastest] in (0, 1). The objective
// sees interlaced rates only; what is not finite is rejected. 2 <= buffers <= 6. Deterministic.
BltRates SearchRates(const std::function<long double(const BltRates&)>& objective,
                     long double slowest, long double fastest, int buffers,
                     const SearchEffort& effort);

// The closed forms of common/mechanisms/counters/blt.h in long double; `steps` may be infinite.
std::vector<long double> WeightsOf(const std::vector<long double>& decay,
                                   const std::vector<long double>& inverse_decay);
long double SquaredColumn(const BltRates& rates, long double steps);
long double SquaredRow(const BltRates& rates, long double t);

}  // namespace bandana::tools

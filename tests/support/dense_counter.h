// B of a counter as a dense matrix, read off its decoder.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/mechanisms/counters/counter_decoder.h"

namespace bandana::testing {

class DenseCounter {
 public:
  // Rows 1 .. steps of B. The design's own dimension does not matter. Cost: steps x nodes x state.
  DenseCounter(const CounterDesign& design, std::uint64_t steps) : grid_(design.grid()) {
    const CounterFactors& factors = design.factors();
    std::size_t nodes = 0;
    for (std::uint64_t t = 1; t <= steps; ++t) nodes += factors.Nodes(t);
    std::vector<double> buffers(factors.buffers() * nodes, 0);
    for (std::uint64_t t = 1; t <= steps; ++t) {
      // One coordinate per node of the stream; each node is a unit in its own coordinate.
      const std::size_t first = variances_.size();
      std::vector<std::int64_t> release(factors.Nodes(t) * nodes, 0);
      for (std::size_t k = 0; k < factors.Nodes(t); ++k) {
        release[k * nodes + first + k] = 1;
        variances_.push_back(static_cast<double>(design.noise(t, k).sigma_squared()));
      }
      factors.Decode(t, release, nodes, buffers);
      rows_.emplace_back(nodes, 0.0);
      factors.Estimate(t, buffers, rows_.back());
    }
  }

  // Covariance of one coordinate of the estimates at steps s and t, in squared units of the data.
  double Covariance(std::uint64_t s, std::uint64_t t) const {
    double sum = 0;
    for (std::size_t k = 0; k < variances_.size(); ++k) {
      sum += rows_[s - 1][k] * rows_[t - 1][k] * variances_[k];
    }
    return std::ldexp(sum, 2 * grid_.exponent);
  }

 private:
  IncrementGrid grid_;
  std::vector<double> variances_;          // of each node's noise, in grid steps
  std::vector<std::vector<double>> rows_;  // of B
};

}  // namespace bandana::testing

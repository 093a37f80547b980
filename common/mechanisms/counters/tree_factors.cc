// Binary-tree counters [CSS11], and the better estimate of the same releases [H15].
//
// Node (h, i) is the sum of the increments of steps i 2^h + 1 .. (i + 1) 2^h. It is released once,
// with its own noise, at the step that completes it, and never again: the decoder keeps it. So
// nothing can ever draw fresh noise for a node.
#include <bit>
#include <cmath>
#include <utility>

#include "common/base/status.h"
#include "common/mechanisms/counters/counter_factors.h"

namespace bandana {
namespace {

// The sum over the set bits l of t of 2^l / (2^(l+1) - 1): [H15] in units of a node's variance.
double HonakerSquaredRow(std::uint64_t t) {
  double sum = 0;
  for (int level = 0; level < std::bit_width(t); ++level) {
    if ((t >> level) & 1) sum += 1 / (2 - std::ldexp(1, -level));
  }
  return sum;
}

class TreeFactors final : public CounterFactors {
 public:
  TreeFactors(std::uint64_t horizon, bool honaker) : horizon_(horizon), honaker_(honaker) {}

  std::uint64_t step_cap() const override { return horizon_; }
  std::string Describe() const override { return honaker_ ? "honaker" : "tree"; }

  // PROOF: tree begin
  // Heights 0 .. ctz(t).
  std::size_t Nodes(std::uint64_t t) const override { return std::countr_zero(t) + 1; }
  double SquaredColumn() const override { return Levels(); }

  // The open node of each height.
  std::size_t sums() const override { return Levels(); }
  __int128 SumMax(std::size_t index, std::int64_t norm_bound) const override {
    return static_cast<__int128>(norm_bound) << index;
  }
  void Encode(std::uint64_t /*t*/, std::span<const std::int64_t> increment,
              std::span<__int128> sums, std::span<std::int64_t> out) const override {
    for (std::size_t first = 0; first < sums.size(); first += increment.size()) {
      const bool completed = first < out.size();
      for (std::size_t c = 0; c < increment.size(); ++c) {
        __int128& sum = sums[first + c];
        sum += increment[c];  // at most norm_bound 2^30 <= 2^61 in magnitude
        if (!completed) continue;
        out[first + c] += static_cast<std::int64_t>(sum);
        sum = 0;
      }
    }
  }
  // PROOF: tree end

  // The estimate of the last completed node of each height.
  std::size_t buffers() const override { return Levels(); }
  void Decode(std::uint64_t /*t*/, std::span<const std::int64_t> nodes, std::size_t dimension,
              std::span<double> buffers) const override {
    for (std::size_t c = 0; c < dimension; ++c) {
      double left = 0;      // the left child's estimate
      double right = 0;     // the right child's, which this step completes as well
      double variance = 0;  // of either
      for (std::size_t k = c; k < nodes.size(); k += dimension) {
        double estimate = static_cast<double>(nodes[k]);
        double own_variance = 1;
        if (honaker_ && k >= dimension) {
          // Weights inverse to the variances 1 and 2 v.
          const double own = 2 * variance / (1 + 2 * variance);
          estimate = own * estimate + (1 - own) * (left + right);
          own_variance = own;
        }
        left = std::exchange(buffers[k], estimate);
        right = estimate;
        variance = own_variance;
      }
    }
  }
  void Estimate(std::uint64_t t, std::span<const double> buffers,
                std::span<double> out) const override {
    for (std::size_t k = 0; k < buffers.size(); ++k) {
      if ((t >> (k / out.size())) & 1) out[k % out.size()] += buffers[k];
    }
  }
  double SquaredRow(std::uint64_t t) const override {
    return honaker_ ? HonakerSquaredRow(t) : std::popcount(t);
  }

 private:
  int Levels() const { return std::bit_width(horizon_); }

  std::uint64_t horizon_;
  bool honaker_;
};

}  // namespace

std::shared_ptr<const CounterFactors> MakeTreeFactors(std::uint64_t horizon, bool honaker) {
  return std::make_shared<TreeFactors>(horizon, honaker);
}

}  // namespace bandana

// The buffered linear Toeplitz counter [BLT24]: a release every step, from a few buffers.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/mechanisms/counters/blt_recursion.h"
#include "common/mechanisms/counters/counter_factors.h"
#include "common/mechanisms/counters/increment.h"

namespace bandana {
namespace {

constexpr int kBltBufferBits = 24;

class BltFactors final : public CounterFactors {
 public:
  BltFactors(const BltTable& table, std::uint64_t step_cap)
      : recursion_(table, kBltBufferBits, IncrementGrid::kNormBoundMax), step_cap_(step_cap) {}

  std::uint64_t step_cap() const override { return step_cap_; }
  std::string Describe() const override { return absl::StrCat("blt;", recursion_.Describe()); }

  std::size_t Nodes(std::uint64_t /*t*/) const override { return 1; }
  // PROOF: counters begin
  double SquaredColumn() const override {
    return BltSquaredSensitivity(recursion_.blt().decay, recursion_.blt().weight, step_cap_);
  }
  double Rounding() const override {
    return recursion_.RoundingPerOutput() * std::sqrt(static_cast<double>(step_cap_));
  }

  std::size_t sums() const override { return recursion_.buffers(); }
  __int128 SumMax(std::size_t index, std::int64_t norm_bound) const override {
    return recursion_.BufferMax(index, norm_bound);
  }
  void Encode(std::uint64_t /*t*/, std::span<const std::int64_t> increment,
              std::span<__int128> sums, std::span<std::int64_t> out) const override {
    for (std::size_t c = 0; c < out.size(); ++c) {
      out[c] += recursion_.Encode(increment[c], c, out.size(), sums);
    }
  }
  // PROOF: counters end

  // The recursion's, then the running sum.
  std::size_t buffers() const override { return recursion_.buffers() + 1; }
  void Decode(std::uint64_t /*t*/, std::span<const std::int64_t> nodes, std::size_t dimension,
              std::span<double> buffers) const override {
    for (std::size_t c = 0; c < dimension; ++c) {
      buffers[recursion_.buffers() * dimension + c] +=
          recursion_.Decode(static_cast<double>(nodes[c]), c, dimension, buffers);
    }
  }
  void Estimate(std::uint64_t /*t*/, std::span<const double> buffers,
                std::span<double> out) const override {
    for (std::size_t c = 0; c < out.size(); ++c) {
      out[c] = buffers[recursion_.buffers() * out.size() + c];
    }
  }
  double SquaredRow(std::uint64_t t) const override { return BltSquaredRow(recursion_.blt(), t); }

 private:
  BltRecursion recursion_;
  std::uint64_t step_cap_;
};

}  // namespace

std::shared_ptr<const CounterFactors> MakeBltFactors(std::uint64_t horizon,
                                                     std::uint64_t step_cap) {
  return std::make_shared<BltFactors>(BltTableFor(horizon), step_cap);
}

}  // namespace bandana

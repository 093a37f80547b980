// A blt counter over epochs that grow geometrically: increments add up inside an epoch, whose sum
// is one input of the recursion. Each event lies in one epoch, so the noise is that of a stream of
// a few hundred steps.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/mechanisms/counters/blt_recursion.h"
#include "common/mechanisms/counters/counter_factors.h"
#include "common/mechanisms/counters/epoch_schedule.h"
#include "common/mechanisms/counters/increment.h"

namespace bandana {
namespace {

constexpr int kEpochBufferBits = 8;
// An epoch has at most 2^30 / 20 steps.
constexpr __int128 kEpochSteps = static_cast<__int128>(1) << 26;
constexpr __int128 kInputMax = kEpochSteps * IncrementGrid::kNormBoundMax;

class EpochFactors final : public CounterFactors {
 public:
  explicit EpochFactors(std::uint64_t step_cap)
      : recursion_(EpochTable(), kEpochBufferBits, kInputMax), step_cap_(step_cap) {
    for (std::uint64_t end = kFirstEpochEnd; end <= step_cap; end = NextEpochEnd(end)) {
      ends_.push_back(end);
    }
  }

  std::uint64_t step_cap() const override { return step_cap_; }
  std::string Describe() const override {
    return absl::StrCat("epochs;first=", kFirstEpochEnd, ";growth=1/20;", recursion_.Describe());
  }

  std::size_t Nodes(std::uint64_t t) const override { return LastEnd(t) == t ? 1 : 0; }
  // PROOF: epochs begin
  // Over the epochs that end; an event after the last end is never released.
  double SquaredColumn() const override {
    return BltSquaredSensitivity(recursion_.blt().decay, recursion_.blt().weight,
                                 std::max<std::size_t>(1, ends_.size()));
  }
  double Rounding() const override {
    return recursion_.RoundingPerOutput() * std::sqrt(static_cast<double>(ends_.size()));
  }

  // The open epoch, then the recursion's.
  std::size_t sums() const override { return 1 + recursion_.buffers(); }
  __int128 SumMax(std::size_t index, std::int64_t norm_bound) const override {
    const __int128 epoch = kEpochSteps * norm_bound;
    return index == 0 ? epoch : recursion_.BufferMax(index - 1, epoch);
  }
  void Encode(std::uint64_t /*t*/, std::span<const std::int64_t> increment,
              std::span<__int128> sums, std::span<std::int64_t> out) const override {
    const std::size_t dimension = increment.size();
    for (std::size_t c = 0; c < dimension; ++c) sums[c] += increment[c];
    for (std::size_t c = 0; c < out.size(); ++c) {
      const auto epoch = static_cast<std::int64_t>(sums[c]);  // below 2^57 in magnitude
      out[c] += recursion_.Encode(epoch, c, dimension, sums.subspan(dimension));
      sums[c] = 0;
    }
  }
  // PROOF: epochs end

  // The recursion's, then the running sum.
  std::size_t buffers() const override { return recursion_.buffers() + 1; }
  void Decode(std::uint64_t /*t*/, std::span<const std::int64_t> nodes, std::size_t dimension,
              std::span<double> buffers) const override {
    for (std::size_t c = 0; c < nodes.size(); ++c) {
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
  double SquaredRow(std::uint64_t t) const override {
    const std::uint64_t ended = Ended(t);
    return ended == 0 ? 0 : BltSquaredRow(recursion_.blt(), ended);
  }
  std::uint64_t Covered(std::uint64_t t) const override { return LastEnd(t); }

 private:
  std::size_t Ended(std::uint64_t t) const {
    return std::upper_bound(ends_.begin(), ends_.end(), t) - ends_.begin();
  }
  std::uint64_t LastEnd(std::uint64_t t) const {
    const std::size_t ended = Ended(t);
    return ended == 0 ? 0 : ends_[ended - 1];
  }

  BltRecursion recursion_;
  std::uint64_t step_cap_;
  std::vector<std::uint64_t> ends_;
};

}  // namespace

std::shared_ptr<const CounterFactors> MakeEpochFactors(std::uint64_t step_cap) {
  return std::make_shared<EpochFactors>(step_cap);
}

}  // namespace bandana

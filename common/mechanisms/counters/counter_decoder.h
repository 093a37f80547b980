// The public side of a counter: post-processing of its releases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/mechanisms/counters/increment.h"

namespace bandana {

// Estimates the running sum from the releases. Knows no private data. Deterministic: equal releases
// give equal bits everywhere, so an estimate with its step may be sent in place of the releases;
// the newest estimate then is all that a receiver needs.
// Threads: not thread-safe. Memory: 8 bytes x factors().buffers() x dimension.
class CounterDecoder {
 public:
  explicit CounterDecoder(const CounterDesign& design);
  // From the bytes that Save gave. Errors: DATA_LOSS torn or changed bytes; FAILED_PRECONDITION of
  // a decoder of another design.
  static absl::StatusOr<CounterDecoder> Restore(const CounterDesign& design,
                                                std::span<const std::byte> saved);

  // The next release, in order, even one that holds no values. Errors: FAILED_PRECONDITION it is
  // not step() + 1, or past the cap; INVALID_ARGUMENT not design.ReleaseSize(step) values. On error
  // nothing changes. Cost: O(buffers x dimension).
  absl::Status Push(const CounterRelease& release);

  std::uint64_t step() const { return step_; }
  // The steps whose increments the estimate sums: design.Covered(step()).
  std::uint64_t covered() const { return design_.Covered(step_); }
  // The sum of the increments of steps 1 .. covered(), in the units of the data; unbiased up to the
  // clipping and the rounding to the grid.
  std::vector<double> Estimate() const;
  // The variance of the noise in one coordinate of it, in squared units of the data.
  double Variance() const { return design_.PredictedVariance(step_); }
  const CounterDesign& design() const { return design_; }
  std::vector<std::byte> Save() const;

 private:
  CounterDesign design_;
  std::uint64_t step_ = 0;
  std::vector<double> buffers_;  // one run of `dimension` each
};

}  // namespace bandana

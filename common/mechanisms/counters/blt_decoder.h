// The public side of a blt counter: post-processing of its releases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "common/mechanisms/counters/blt.h"
#include "common/mechanisms/counters/blt_tables.h"
#include "common/mechanisms/counters/increment.h"

namespace bandana {

// Estimates the running sum from the releases. Knows no private data.
// Threads: not thread-safe. Memory: 8 bytes x (buffers + 1) x dimension.
class BltDecoder {
 public:
  BltDecoder(const BltTable& table, const IncrementGrid& grid);

  // The next release, in order. Errors: FAILED_PRECONDITION it is not step() + 1;
  // INVALID_ARGUMENT another dimension. On error nothing changes. Cost: O(buffers x dimension).
  absl::Status Push(const CounterRelease& release);

  std::uint64_t step() const { return step_; }
  // The sum of all increments up to step(), in the units of the data; unbiased up to the clipping
  // and the rounding to the grid.
  std::vector<double> Estimate() const;

 private:
  Blt blt_;
  IncrementGrid grid_;
  std::uint64_t step_ = 0;
  std::vector<double> buffers_;  // one run of `dimension` a buffer, in grid steps
  std::vector<double> sum_;      // in grid steps
};

}  // namespace bandana

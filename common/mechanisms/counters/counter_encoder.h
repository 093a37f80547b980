// The private side of a counter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/mechanisms/counters/increment.h"
#include "common/mechanisms/counters/sealed_state.h"
#include "common/random/bit_source.h"

namespace bandana {

// Releases the nodes round((C g)_t) + discrete Gaussian that each step completes, in integers that
// are the same on every machine.
//
// Threads:  not thread-safe. Memory: 16 bytes x factors().sums() x dimension (blt, epochs: buffers;
//           trees: levels; toeplitz: the horizon); erased when destroyed.
// Privacy:  all releases up to the cap together are design.cost()-zCDP in one replaced increment,
//           also when later increments depend on earlier releases. Proof: docs/privacy/counters.md.
// By the caller: one Step per event, releases are made durable before they are sent and resent as
//           they are, and no state is ever stepped twice: a restored state that may be older than a
//           release that left means a new counter. Bits that a key determines are addressed by the
//           step (NoiseAddress::node = step() + 1): every node belongs to one step.
class CounterEncoder {
 public:
  explicit CounterEncoder(const CounterDesign& design);
  // From a state that Seal gave. Errors: DATA_LOSS, FAILED_PRECONDITION as OpenState, and DATA_LOSS
  // for sums that no stream can reach.
  static absl::StatusOr<CounterEncoder> Restore(const CounterDesign& design,
                                                std::span<const std::byte> sealed);

  CounterEncoder(CounterEncoder&&) = default;
  CounterEncoder& operator=(CounterEncoder&&) = delete;

  // One step. The release holds design.ReleaseSize(step) values, none where the step releases
  // nothing. Cost: O(sums x dimension) and a draw a value.
  // Errors: FAILED_PRECONDITION the cap is reached; INVALID_ARGUMENT an increment of another grid;
  //         UNAVAILABLE the source failed. On error nothing is released and the state is as before.
  absl::StatusOr<CounterRelease> Step(const ClippedIncrement& increment, BitSource& bits);

  std::uint64_t step() const { return state_.step; }  // steps taken
  const CounterDesign& design() const { return design_; }
  SealedState Seal() const { return SealState(design_.digest(), state_); }

 private:
  CounterDesign design_;
  EncoderState state_;  // sums: one run of `dimension` each
};

}  // namespace bandana

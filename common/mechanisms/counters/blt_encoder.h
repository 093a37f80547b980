// The private side of a blt counter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "common/mechanisms/counters/blt_design.h"
#include "common/mechanisms/counters/increment.h"
#include "common/mechanisms/counters/sealed_state.h"
#include "common/random/bit_source.h"

namespace bandana {

// Releases y_t = round((C g)_t) + discrete Gaussian, in integers that are the same on every
// machine.
//
// Threads:  not thread-safe. Memory: 16 bytes x buffers x dimension; erased when destroyed.
// Privacy:  all releases up to the cap together are design.cost()-zCDP in one replaced increment,
//           also when later increments depend on earlier releases. Proof: docs/privacy/counters.md.
// By the caller: one Step an event, releases are made durable before they are sent and resent as
// they are, and no state is ever stepped twice: a restored state that may be older than a release
// that left means a new counter.
class BltEncoder {
 public:
  explicit BltEncoder(const BltDesign& design);
  // From a state that Seal gave. Errors: DATA_LOSS, FAILED_PRECONDITION as OpenState, and DATA_LOSS
  // for sums that no stream can reach.
  static absl::StatusOr<BltEncoder> Restore(const BltDesign& design,
                                            std::span<const std::byte> sealed);

  BltEncoder(BltEncoder&&) = default;
  BltEncoder& operator=(BltEncoder&&) = delete;

  // One step. Cost: O(buffers x dimension) and `dimension` draws.
  // Errors: FAILED_PRECONDITION the cap is reached; INVALID_ARGUMENT an increment of another grid;
  //         UNAVAILABLE the source failed. On error nothing is released and the state is as before.
  absl::StatusOr<CounterRelease> Step(const ClippedIncrement& increment, BitSource& bits);

  std::uint64_t step() const { return state_.step; }  // steps taken
  SealedState Seal() const { return SealState(design_.digest(), state_); }

 private:
  BltDesign design_;
  EncoderState state_;  // sums: one run of `dimension` a buffer, in 2^-24 grid steps
};

}  // namespace bandana

// One user's counter on the device: the only place where a reward becomes part of a released sum.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "client/core/held_reward.h"
#include "client/core/secret_bytes.h"
#include "common/mechanisms/counters/counter_decoder.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/mechanisms/counters/counter_encoder.h"
#include "common/random/bit_source.h"

namespace bandana::device {

// Encoder and decoder of one stream. Step returns post-processing of the encoder's integer
// releases; nothing else leaves.
//
// Privacy:  all steps together are design.cost()-zCDP in the reward of any one event, which the
//           caller has debited before; docs/privacy/device_stream.md.
// Threads:  not thread-safe. Memory is erased when destroyed.
class CounterStream {
 public:
  // `state`: what Save gave, empty before the first step. Errors: DATA_LOSS damaged;
  // FAILED_PRECONDITION of another design.
  static absl::StatusOr<CounterStream> Restore(const CounterDesign& design,
                                               const SecretBytes& state);

  // One event: counts x (reward - centre), clipped to the design's bound, and returns the noisy sum
  // over all events so far, `dimension` doubles in units of feature x reward.
  // Errors: FAILED_PRECONDITION the last step is taken; UNAVAILABLE entropy failed;
  // INVALID_ARGUMENT x has another length. On error nothing is released and the stream must not be
  // saved.
  absl::StatusOr<std::vector<double>> Step(std::span<const double> x, const HeldReward& reward,
                                           double centre, BitSource& bits);

  std::uint64_t step() const { return encoder_.step(); }
  SecretBytes Save() const;

 private:
  CounterStream(CounterEncoder encoder, CounterDecoder decoder)
      : encoder_(std::move(encoder)), decoder_(std::move(decoder)) {}

  CounterEncoder encoder_;
  CounterDecoder decoder_;
};

}  // namespace bandana::device

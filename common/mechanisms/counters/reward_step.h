// One step of a counter of rewards times features: what a device runs, and an experiment in its
// place.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/mechanisms/counters/counter_decoder.h"
#include "common/mechanisms/counters/counter_encoder.h"
#include "common/random/bit_source.h"

namespace bandana {

// Counts features x reward, `reward` clipped and centred, and gives the estimate of the covered
// sum. Encoder and decoder are at one step, of one design. Errors: as CounterEncoder::Step.
absl::StatusOr<std::vector<double>> StepReward(CounterEncoder& encoder, CounterDecoder& decoder,
                                               std::span<const double> features, double reward,
                                               BitSource& bits);

}  // namespace bandana

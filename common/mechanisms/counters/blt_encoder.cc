#include "common/mechanisms/counters/blt_encoder.h"

#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/mechanisms/counters/erase.h"

namespace bandana {
namespace {

constexpr int kBufferBits = BltDesign::kBufferBits;
constexpr int kOutputBits = kBufferBits + kBltConstantBits;
constexpr __int128 kOutputHalf = static_cast<__int128>(1) << (kOutputBits - 1);

// No buffer of a stream can be larger in magnitude: |buf| <= theta |buf| + 1 + bound 2^24 gives
// |buf| <= (bound 2^24 + 1) / (1 - theta).
__int128 BufferMax(std::int64_t norm_bound, std::int64_t decay) {
  const __int128 input = (static_cast<__int128>(norm_bound) << kBufferBits) + 1;
  return (input << kBltConstantBits) / decay + 1;
}

// Noise beside a release would give the data away.
struct ErasedNoise {
  explicit ErasedNoise(std::size_t size) : values(size) {}
  ~ErasedNoise() { Erase(values); }
  ErasedNoise(const ErasedNoise&) = delete;
  ErasedNoise& operator=(const ErasedNoise&) = delete;
  std::vector<std::int64_t> values;
};

}  // namespace

BltEncoder::BltEncoder(const BltDesign& design) : design_(design) {
  state_.sums.assign(design.table().decay.size() * design.grid().dimension, 0);
}

absl::StatusOr<BltEncoder> BltEncoder::Restore(const BltDesign& design,
                                               std::span<const std::byte> sealed) {
  BltEncoder encoder(design);
  BANDANA_ASSIGN_OR_RETURN(EncoderState state,
                           OpenState(sealed, design.digest(), encoder.state_.sums.size()));
  if (state.step > design.step_cap()) return DataLoss("counter state: step is past the cap");
  for (std::size_t k = 0; k < state.sums.size(); ++k) {
    const std::int64_t decay = design.table().decay[k / design.grid().dimension];
    const __int128 bound = BufferMax(design.grid().norm_bound, decay);
    if (state.sums[k] > bound || state.sums[k] < -bound) {
      return DataLoss("counter state: a sum is out of range");
    }
  }
  std::swap(encoder.state_.sums, state.sums);
  encoder.state_.step = state.step;
  return encoder;
}

// PROOF: counters begin
absl::StatusOr<CounterRelease> BltEncoder::Step(const ClippedIncrement& increment,
                                                BitSource& bits) {
  if (state_.step >= design_.step_cap()) {
    return FailedPrecondition("counter: the cap of ", design_.step_cap(), " steps is reached");
  }
  if (!(increment.grid() == design_.grid())) {
    return InvalidArgument("increment must be clipped on the counter's grid");
  }
  const std::size_t dimension = design_.grid().dimension;
  ErasedNoise noise(dimension);
  for (std::int64_t& z : noise.values) {
    BANDANA_ASSIGN_OR_RETURN(z, design_.noise().Sample(bits));
  }
  CounterRelease release{state_.step + 1, std::vector<std::int64_t>(dimension)};
  const BltTable& table = design_.table();
  for (std::size_t c = 0; c < dimension; ++c) {
    // Magnitudes: input < 2^32, w buf summed <= gain (bound 2^24 + 1) 2^52 < 2^(15+31+25+52) =
    // 2^123, decay buf <= (bound 2^24 + 1) 2^52 < 2^108.
    const __int128 input = increment.values_[c];
    __int128 output = (input << kOutputBits) + kOutputHalf;
    for (std::size_t i = 0; i < table.decay.size(); ++i) {
      __int128& buffer = state_.sums[i * dimension + c];
      output += table.weight[i] * buffer;
      // buffer <- theta buffer + input, theta = 1 - decay, rounded to 2^-24 grid steps.
      buffer += (input << kBufferBits) - ((table.decay[i] * buffer) >> kBltConstantBits);
    }
    release.values[c] = static_cast<std::int64_t>(output >> kOutputBits) + noise.values[c];
  }
  ++state_.step;
  return release;
}
// PROOF: counters end

}  // namespace bandana

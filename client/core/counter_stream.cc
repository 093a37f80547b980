#include "client/core/counter_stream.h"

#include <utility>

#include "common/base/bytes.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/mechanisms/counters/reward_step.h"

namespace bandana::device {

// PROOF: device_stream begin
absl::StatusOr<std::vector<double>> CounterStream::Step(std::span<const double> x,
                                                        const HeldReward& reward, double centre,
                                                        BitSource& bits) {
  return StepReward(encoder_, decoder_, x, reward.value_ - centre, bits);
}
// PROOF: device_stream end

absl::StatusOr<CounterStream> CounterStream::Restore(const CounterDesign& design,
                                                     const SecretBytes& state) {
  if (state.get().empty()) return CounterStream(CounterEncoder(design), CounterDecoder(design));
  ByteReader reader(state.get());
  const std::string_view encoder_bytes = reader.Block();
  const std::string_view decoder_bytes = reader.Block();
  if (!reader.Done()) return DataLoss("counter stream: its state is torn");
  BANDANA_ASSIGN_OR_RETURN(auto encoder, CounterEncoder::Restore(design, AsBytes(encoder_bytes)));
  BANDANA_ASSIGN_OR_RETURN(auto decoder, CounterDecoder::Restore(design, AsBytes(decoder_bytes)));
  if (encoder.step() != decoder.step()) {
    return DataLoss("counter stream: encoder and decoder are at different steps");
  }
  return CounterStream(std::move(encoder), std::move(decoder));
}

SecretBytes CounterStream::Save() const {
  const SealedState encoder = encoder_.Seal();
  const std::vector<std::byte> decoder = decoder_.Save();
  std::string bytes;
  // All at once: growing would leave copies behind.
  bytes.reserve(encoder.bytes().size() + decoder.size() + 16);
  ByteWriter writer(bytes);
  writer.Block(AsChars(encoder.bytes()));
  writer.Block(AsChars(decoder));
  return SecretBytes(std::move(bytes));
}

}  // namespace bandana::device

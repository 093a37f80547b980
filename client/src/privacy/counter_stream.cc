#include "client/src/privacy/counter_stream.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/mechanisms/counters/erase.h"

namespace bandana::device {

// PROOF: device_stream begin
HeldReward HeldReward::Clip(std::optional<double> reward, const RewardRange& range,
                            double default_reward) {
  const double value = reward && !std::isnan(*reward) ? *reward : default_reward;
  return HeldReward(std::clamp(value, range.min, range.max));
}

absl::StatusOr<std::vector<double>> CounterStream::Step(std::span<const double> x,
                                                        const HeldReward& reward, double centre,
                                                        BitSource& bits) {
  std::vector<double> product(x.begin(), x.end());
  for (double& value : product) value *= reward.value_ - centre;
  auto increment = ClippedIncrement::Clip(product, encoder_.design().grid());
  bandana::Erase(product);
  if (!increment.ok()) return increment.status();
  BANDANA_ASSIGN_OR_RETURN(const CounterRelease release, encoder_.Step(*increment, bits));
  BANDANA_RETURN_IF_ERROR(decoder_.Push(release));
  return decoder_.Estimate();
}
// PROOF: device_stream end

SecretBytes HeldReward::Pack() const {
  std::string bytes;
  PutNumber(bytes, std::bit_cast<std::uint64_t>(value_));
  return SecretBytes(std::move(bytes));
}

std::optional<HeldReward> HeldReward::Unpack(std::string_view bytes) {
  Reader reader{bytes};
  const double value = std::bit_cast<double>(reader.Number());
  if (!reader.ok || !reader.rest.empty()) return std::nullopt;
  return HeldReward(value);
}

absl::StatusOr<CounterStream> CounterStream::Restore(const CounterDesign& design,
                                                     const SecretBytes& state) {
  if (state.get().empty()) return CounterStream(CounterEncoder(design), CounterDecoder(design));
  Reader reader{state.get()};
  const std::string_view encoder_bytes = reader.Take(reader.Number());
  const std::string_view decoder_bytes = reader.Take(reader.Number());
  if (!reader.ok || !reader.rest.empty()) return DataLoss("counter stream: its state is torn");
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
  PutBytes(bytes, AsChars(encoder.bytes()));
  PutBytes(bytes, AsChars(decoder));
  return SecretBytes(std::move(bytes));
}

}  // namespace bandana::device

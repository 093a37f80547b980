#include "common/model/state/keyed_noise.h"

#include <utility>

#include "common/base/status.h"
#include "common/mechanisms/canonical_text.h"

namespace bandana {

absl::StatusOr<KeyedNoise> KeyedNoise::Create(const InstanceId& instance,
                                              std::shared_ptr<const NoiseKey> key,
                                              const NoiseBinding* binding) {
  if (key == nullptr) return FailedPrecondition("a central model needs the server's noise key");
  return KeyedNoise(instance, std::move(key), BindingOr(binding));
}

NoiseOrigin KeyedNoise::At(std::uint64_t epoch, const Sha256Digest& history) const {
  return {.key = key_.get(),
          .instance = instance_,
          .epoch = epoch,
          .history = binding_->HistoryOf(history),
          .binding = binding_};
}

absl::StatusOr<KeyedStream> KeyedNoise::StreamFor(std::string_view purpose) const {
  return KeyedStream::ForNode(*key_, {.instance = instance_,
                                      .parameters = CanonicalText(purpose).Hash(),
                                      .input = NoiseInput::None()});
}

absl::StatusOr<CellKey> KeyedNoise::MakeCellKey() const {
  BANDANA_ASSIGN_OR_RETURN(KeyedStream bits, StreamFor("bandana window cells 1"));
  CellKey key{};
  BANDANA_RETURN_IF_ERROR(bits.Fill(key));
  return key;
}

absl::StatusOr<std::string> KeyedNoise::Fingerprint() const {
  BANDANA_ASSIGN_OR_RETURN(KeyedStream bits, StreamFor("bandana noise key 1"));
  std::array<std::byte, 16> fingerprint{};
  BANDANA_RETURN_IF_ERROR(bits.Fill(fingerprint));
  return ToHex(fingerprint);
}

}  // namespace bandana

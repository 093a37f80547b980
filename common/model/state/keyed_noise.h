// The noise of a model that the server draws for: a function of its key.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/design/instance_id.h"
#include "common/model/state/cell_codec.h"
#include "common/model/state/noise_binding.h"
#include "common/random/keyed_stream.h"

namespace bandana {

// The origin of a release's noise beside its node: the key, and where the release stands.
struct NoiseOrigin {
  const NoiseKey* key = nullptr;
  std::array<std::byte, 16> instance{};
  std::uint64_t epoch = 0;
  // Running hash of the log up to and with the entry that causes the release.
  Sha256Digest history{};
  const NoiseBinding* binding = nullptr;  // BindingOr
};

// Immutable. Threads: safe.
class KeyedNoise {
 public:
  // `binding`: null but in bandana-audit; must outlive this. Errors: FAILED_PRECONDITION there is
  // no key.
  static absl::StatusOr<KeyedNoise> Create(const InstanceId& instance,
                                           std::shared_ptr<const NoiseKey> key,
                                           const NoiseBinding* binding);

  NoiseOrigin At(std::uint64_t epoch, const Sha256Digest& history) const;
  const NoiseBinding& binding() const { return *binding_; }

  // Errors: UNAVAILABLE the cipher failed.
  absl::StatusOr<CellKey> MakeCellKey() const;
  // 32 hex digits that only this key gives for this instance. Errors: as MakeCellKey.
  absl::StatusOr<std::string> Fingerprint() const;

 private:
  KeyedNoise(const InstanceId& instance, std::shared_ptr<const NoiseKey> key,
             const NoiseBinding& binding)
      : instance_(instance), key_(std::move(key)), binding_(&binding) {}
  // Bits for something that is no release.
  absl::StatusOr<KeyedStream> StreamFor(std::string_view purpose) const;

  InstanceId instance_;
  std::shared_ptr<const NoiseKey> key_;
  const NoiseBinding* binding_;
};

}  // namespace bandana

// The noise of experiments: repeatable, so never private. A type of this room, which neither server
// nor SDK can link.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "common/random/bit_source.h"
#include "common/random/keyed_stream.h"

namespace bandana::lab {

// The keyed stream of the mechanisms (common/random/keyed_stream.h) under a key derived from an
// experiment's seed; streams of different numbers are independent. Not thread-safe.
class LabNoise final : public BitSource {
 public:
  // Errors: UNAVAILABLE OpenSSL failed.
  static absl::StatusOr<std::unique_ptr<LabNoise>> Create(std::uint64_t seed, std::uint64_t stream);

  absl::Status Fill(std::span<std::byte> out) override;

 private:
  explicit LabNoise(KeyedStream stream) : stream_(std::move(stream)) {}

  KeyedStream stream_;
  std::array<std::byte, 1024> block_{};
  std::size_t next_ = 1024;  // of block_
};

}  // namespace bandana::lab

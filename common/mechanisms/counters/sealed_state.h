// The state of an encoder between runs of a program. It holds raw sums of private increments: for
// the device's own store, sealed by the key of the app, and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/sha256.h"

namespace bandana {

// Bytes that are erased when destroyed. Not copyable.
class SealedState {
 public:
  explicit SealedState(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  ~SealedState();
  SealedState(SealedState&&) = default;
  SealedState& operator=(SealedState&&) = delete;
  SealedState(const SealedState&) = delete;
  SealedState& operator=(const SealedState&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// A step and raw sums, erased when destroyed.
struct EncoderState {
  std::uint64_t step = 0;
  std::vector<__int128> sums;

  EncoderState() = default;
  ~EncoderState();
  EncoderState(EncoderState&&) = default;
  EncoderState& operator=(EncoderState&&) = delete;
  EncoderState(const EncoderState&) = delete;
  EncoderState& operator=(const EncoderState&) = delete;
};

// Layout: "BNDCTR01", the design's digest, step and sums little-endian, SHA-256 of all before.
SealedState SealState(const Sha256Digest& design, const EncoderState& state);

// Errors: DATA_LOSS torn or changed bytes; FAILED_PRECONDITION of a counter of another design.
absl::StatusOr<EncoderState> OpenState(std::span<const std::byte> bytes, const Sha256Digest& design,
                                       std::size_t sums);

}  // namespace bandana

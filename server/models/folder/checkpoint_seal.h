// Checkpoint files that only an operator's key opens. Layout: docs/formats/checkpoint.md.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/aead.h"
#include "common/base/byte_sink.h"
#include "common/random/bit_source.h"

namespace bandana::server {

// AES-256-GCM under a key derived from the operator's, with a fresh random nonce each time; header
// and content are authenticated. Limit: 2^32 files a key, because nonces are random (NIST SP
// 800-38D, 8.3). Threads: safe. Cost: about 1 ms per MiB.
class CheckpointSeal {
 public:
  static constexpr std::size_t kKeyBytes = kAeadKeyBytes;

  // Errors: INVALID_ARGUMENT not kKeyBytes; UNAVAILABLE the cipher library failed.
  static absl::StatusOr<std::shared_ptr<const CheckpointSeal>> Create(
      std::span<const std::byte> key);
  // From a file of 64 hexadecimal digits, white space at its end allowed. Errors:
  // FAILED_PRECONDITION not a regular file, or its mode lets others in; INVALID_ARGUMENT other
  // content; NOT_FOUND; UNAVAILABLE I/O.
  static absl::StatusOr<std::shared_ptr<const CheckpointSeal>> FromFile(const std::string& path);
  CheckpointSeal(const CheckpointSeal&) = delete;
  CheckpointSeal& operator=(const CheckpointSeal&) = delete;

  // Writes the sealed file. Errors: UNAVAILABLE entropy or cipher; those of `plain` and `file`.
  absl::Status Seal(const ByteSource& plain, BitSource& bits, const ByteSink& file) const;
  // Takes the file twice in memory. Errors: DATA_LOSS damaged; FAILED_PRECONDITION sealed with
  // another key.
  absl::StatusOr<std::string> Open(std::string_view sealed) const;

 private:
  using KeyId = std::array<std::byte, 16>;
  CheckpointSeal(AeadKey key, const KeyId& key_id) : key_(std::move(key)), key_id_(key_id) {}

  const AeadKey key_;   // derived
  const KeyId key_id_;  // in every file: tells another key from damage
};

// The content of a checkpoint file, sealed or not. `seal` may be null. Errors: as Open;
// FAILED_PRECONDITION sealed, and no key was given.
absl::StatusOr<std::string> Unseal(const CheckpointSeal* seal, std::string file);

}  // namespace bandana::server

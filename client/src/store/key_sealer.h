// Encryption of the device store's private columns under a key that only the application has.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/core/sealer.h"
#include "common/base/aead.h"

namespace bandana::device {

// AES-256-GCM under HMAC-SHA256(key, "bandana-device-store-1" || identity), with a fresh random
// nonce each time and (identity, row) authenticated: bytes open in the row and in the store for
// which they were sealed, and nowhere else. Without a key bytes pass unchanged.
// Limit: 2^32 sealings a store, because nonces are random (NIST SP 800-38D, 8.3).
// Threads: not thread-safe. Cost: about 1 us and 29 bytes.
class KeySealer final : public Sealer {
 public:
  static constexpr std::size_t kKeyBytes = kAeadKeyBytes;

  // `key` empty or of kKeyBytes. Errors: INVALID_ARGUMENT its length; UNAVAILABLE OpenSSL failed.
  static absl::StatusOr<std::unique_ptr<Sealer>> Create(std::string_view key,
                                                        std::string_view identity);
  ~KeySealer() override;

  absl::StatusOr<std::string> Seal(std::string_view row, std::string_view plain) override;
  absl::StatusOr<std::string> Open(std::string_view row, std::string_view stored) override;

 private:
  struct Body;
  KeySealer();
  bool has_key() const { return body_ != nullptr; }

  std::unique_ptr<Body> body_;
};

}  // namespace bandana::device

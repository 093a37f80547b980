// Records of a log, sealed under keys that die when the log is trimmed: what PostgreSQL keeps of
// dropped entries in dead rows and archives opens for nobody who has not the server's key file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/aead.h"

namespace bandana::server {

// Threads: safe.
class PgSeal {
 public:
  // 32 random bytes in hexadecimal, as checkpoint_key_file. Errors: FAILED_PRECONDITION others may
  // read the file; INVALID_ARGUMENT its content; NOT_FOUND, UNAVAILABLE I/O.
  // `log`: its id: a wrapped key is bound to it, so that nobody carries records into another log.
  static absl::StatusOr<std::unique_ptr<PgSeal>> FromFile(const std::string& path, std::string log);

  // Draws a key for what is sealed from now on; the same, wrapped. Errors: UNAVAILABLE no
  // randomness.
  absl::StatusOr<std::string> NewKey(std::int64_t id);
  // Errors: FAILED_PRECONDITION wrapped under another key file; DATA_LOSS damaged.
  absl::Status AddKey(std::int64_t id, std::string_view wrapped);

  bool Has(std::int64_t key) const { return Find(key) != nullptr; }

  // Keys that nothing is sealed under any more.
  void ForgetBefore(std::int64_t id);

  // Errors: UNAVAILABLE no such key, no randomness, or the cipher failed.
  absl::StatusOr<std::string> Seal(std::int64_t key, std::string_view record) const;
  // Errors: DATA_LOSS.
  absl::StatusOr<std::string> Open(std::int64_t key, std::string_view sealed) const;

 private:
  void Keep(std::int64_t id, std::span<const std::byte, kAeadKeyBytes> secret);
  std::shared_ptr<const AeadKey> Find(std::int64_t id) const;
  PgSeal(AeadKey wrapping, std::string log)
      : wrapping_(std::move(wrapping)), log_(std::move(log)) {}
  std::string PurposeOf(std::int64_t id) const;

  const AeadKey wrapping_;
  const std::string log_;
  mutable std::mutex mutex_;  // for keys_
  std::map<std::int64_t, std::shared_ptr<const AeadKey>> keys_;
};

}  // namespace bandana::server

// Proof that a server with the key file wrote an address into the database: whoever may write
// the database alone cannot send other servers to a stranger.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/sha256.h"

namespace bandana::server {

// Threads: immutable. HMAC-SHA256 under a key that is derived from the key file.
class PgAddressProof {
 public:
  // Errors: those of SecretFromKeyFile.
  static absl::StatusOr<PgAddressProof> FromFile(const std::string& key_file);

  // For a row of bandana.served. Empty: OpenSSL failed, and nobody believes the row.
  std::string OfOwner(std::string_view log, std::int64_t term, std::string_view address) const;
  // For a row of bandana.servers.
  std::string OfServer(std::string_view address, std::string_view name) const;

  // Whether a row holds what it should, in constant time.
  static bool Same(std::string_view stored, std::string_view computed);

 private:
  explicit PgAddressProof(const Sha256Digest& key) : key_(key) {}
  std::string Of(std::string_view what) const;

  Sha256Digest key_;
};

}  // namespace bandana::server

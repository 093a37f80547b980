// Keys derived from an operator's file, and what is sealed under them.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/aead.h"
#include "common/base/sha256.h"

namespace bandana::server {

// HMAC-SHA256 of `purpose` under the file's 32 random bytes, which it has in hexadecimal, as
// checkpoint_key_file. Errors: FAILED_PRECONDITION others may read the file; INVALID_ARGUMENT its
// content; NOT_FOUND, UNAVAILABLE I/O.
absl::StatusOr<AeadKey> DeriveFromKeyFile(const std::string& path, std::string_view purpose);

// Returns that HMAC unchanged, for secrets that are no keys of AES. Errors: as DeriveFromKeyFile.
absl::StatusOr<Sha256Digest> SecretFromKeyFile(const std::string& path, std::string_view purpose);

// nonce | ciphertext | tag, bound to `purpose`. Errors: UNAVAILABLE no randomness, or the cipher
// failed.
absl::StatusOr<std::string> SealUnder(const AeadKey& key, std::string_view plain,
                                      std::string_view purpose);
// Errors: DATA_LOSS; UNAVAILABLE the cipher failed.
absl::StatusOr<std::string> OpenUnder(const AeadKey& key, std::string_view sealed,
                                      std::string_view purpose);

}  // namespace bandana::server

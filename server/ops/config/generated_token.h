// access.generate_token: the token that a server draws for itself at its first start.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/random/bit_source.h"
#include "server/service/access/access.h"

namespace bandana::server {

// The file of data_dir that keeps the SHA-256 of the token: 64 hexadecimal digits and a newline.
inline constexpr char kGeneratedTokenFile[] = "generated_token_sha256";

// Gives the first principal of `rules`, which ParseAccess has made for generate_token, the digest
// that data_dir keeps. Without the file it draws 32 bytes, makes their digest durable (mode 0600)
// and returns them in hexadecimal: the caller shows them once. Otherwise it returns "". To be
// called by the process that holds data_dir. Errors: DATA_LOSS the file holds no digest;
// FAILED_PRECONDITION others may read it; UNAVAILABLE I/O or randomness.
absl::StatusOr<std::string> OpenGeneratedToken(const std::string& data_dir, BitSource& bits,
                                               AccessRules& rules);

}  // namespace bandana::server

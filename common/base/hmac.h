// HMAC-SHA256 (OpenSSL): how keys are derived from keys.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "common/base/sha256.h"

namespace bandana {

// Sets `digest` to HMAC-SHA256(key, message). False when OpenSSL failed; `digest` is then zeros.
// Whoever derives a secret erases the digest.
[[nodiscard]] bool HmacSha256(std::span<const std::byte> key, std::string_view message,
                              Sha256Digest& digest);

}  // namespace bandana

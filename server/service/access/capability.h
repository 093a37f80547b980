// Names that nobody can guess.
#pragma once

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"

namespace bandana::server {

// 16 bytes have so many characters in base64url. In hexadecimal they have 32, as a UUID 36.
inline constexpr std::size_t kCapabilityBytesMin = 22;
inline constexpr std::size_t kCapabilityBytesMax = 64;

// Whether the id has the form of at least 128 random bits. `why` it must, for people. Errors:
// INVALID_ARGUMENT, naming the field.
absl::Status CheckCapability(std::string_view field, std::string_view id, std::string_view why);

}  // namespace bandana::server

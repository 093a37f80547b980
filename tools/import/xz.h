// Decompression of .xz data in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace bandana {

// The decompressed content of one or more concatenated .xz streams.
// Errors: DATA_LOSS not xz, damaged or truncated; RESOURCE_EXHAUSTED more than bytes_max bytes come
// out, or the decoder asks for more than 256 MiB.
absl::StatusOr<std::string> DecompressXz(std::string_view compressed, std::uint64_t bytes_max);

}  // namespace bandana

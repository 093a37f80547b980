// Decompression of .xz data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/import/unpack.h"

namespace bandana {

std::unique_ptr<Unpacker> MakeXzUnpacker();

// The decompressed content of one or more concatenated .xz streams.
// Errors: those of an Unpacker; RESOURCE_EXHAUSTED more than bytes_max bytes come out.
absl::StatusOr<std::string> DecompressXz(std::string_view compressed, std::uint64_t bytes_max);

}  // namespace bandana

// Small random values on the hot path: ids and nonces.
#pragma once

#include <cstddef>
#include <span>

#include "absl/status/status.h"

namespace bandana::server {

// Fills `out` (at most 256 bytes) from SystemBits(), through a block per thread that is fetched at
// once and erased byte by byte as it is given out. A forked child never sees its parent's rest.
// Errors: UNAVAILABLE the system generator failed.
absl::Status FillRandom(std::span<std::byte> out);

}  // namespace bandana::server

// The kernel's knowledge of a TCP connection.
#pragma once

#include <cstdint>

namespace bandana::server {

// Bytes that the process has read from it; 0 when that cannot be told.
std::uint64_t BytesRead(int descriptor);

}  // namespace bandana::server

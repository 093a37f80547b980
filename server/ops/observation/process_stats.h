// The process's own resource use, from /proc.
#pragma once

#include <cstdint>

namespace bandana::server {

struct ProcessStats {
  std::uint64_t resident_bytes = 0;
  std::uint64_t virtual_bytes = 0;
  std::uint64_t open_fds = 0;
  std::uint64_t max_fds = 0;
  std::uint64_t threads = 0;
  double cpu_seconds = 0;
};

// Figures that cannot be read stay 0.
ProcessStats ReadProcessStats();

}  // namespace bandana::server

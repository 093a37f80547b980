// Bulk work that leaves half of the time to others.
#pragma once

#include <chrono>
#include <thread>

namespace bandana {

// Does one part of the work, then sleeps for as long as it took: who waits for the same disk or the
// same lock gets it between the parts.
template <typename Part>
void AtHalfPace(const Part& part) {
  const auto start = std::chrono::steady_clock::now();
  part();
  std::this_thread::sleep_for(std::chrono::steady_clock::now() - start);
}

}  // namespace bandana

// Bounds of what a model keeps of the arms that its users were shown.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace bandana {

struct SeenBounds {
  std::uint32_t arms_per_user = 1;  // of each kind, at least 1
  std::uint64_t users = 1;          // at least 1
  absl::Duration kept;              // whole seconds
  friend bool operator==(const SeenBounds&, const SeenBounds&) = default;
};

}  // namespace bandana

// How much is left of what bounds the users of a model.
#pragma once

#include <cstdint>

namespace bandana::server {

// How much the fullest budget has used in this epoch.
struct BudgetUse {
  enum class Of { kUser, kStream };
  Of of = Of::kUser;
  std::uint64_t used = 0;   // events of one user, or steps of one counter's stream
  std::uint64_t limit = 0;  // events_per_user_max, or steps_max
};

}  // namespace bandana::server

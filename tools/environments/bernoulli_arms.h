// The classical bandit without contexts.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tools/base/settings.h"
#include "tools/environments/environment.h"

namespace bandana {

// `arms` (10) arms, all on offer each round, arm a as the unit vector e_a; the reward is 1 with
// probability p_a, else 0, and p_a is drawn from U(0, 1). One user.
absl::StatusOr<std::unique_ptr<Environment>> MakeBernoulliArms(Settings& settings,
                                                               std::uint64_t seed);

}  // namespace bandana

// Fresh arms on the unit sphere each round: rewards of +1 or -1, the setting measured for [SS18],
// or with little noise or a logistic link, those measured for [Z20].
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tools/base/settings.h"
#include "tools/environments/environment.h"

namespace bandana {

// `pool` (25) fresh uniformly random unit arms in R^`dimension` (5) each round; |theta*| =
// `theta_l2` (0.75), one direction per user. With `noise` 0, the default, the reward is +1 with
// probability (1 + x . theta*)/2, else -1; else it is x . theta* + N(0, noise^2), clipped to [-1,
// 1]. With `link` logistic (linear) it is 1 with probability 1 / (1 + e^-x.theta*), else 0; `noise`
// is then refused, and |theta*| is 4 unless given. `users` (1) come in turn.
absl::StatusOr<std::unique_ptr<Environment>> MakeSphere(Settings& settings, std::uint64_t seed);

}  // namespace bandana

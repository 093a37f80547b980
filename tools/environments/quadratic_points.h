// Continuous actions with smooth rewards.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tools/base/settings.h"
#include "tools/environments/environment.h"

namespace bandana {

// Points of the unit ball, or with `domain` box of [-1, 1]^d, d = `dimension` (2), at most 256. The
// reward of x is the negated quadratic loss of ConvexLosses: its expectation -|x - x*|^2 / 2 is
// greatest at x*, |x*| = 1/2, drawn from the seed, and its noise is <g, x> / 2, g uniform on the
// unit sphere. One user.
absl::StatusOr<std::unique_ptr<Environment>> MakeQuadraticPoints(Settings& settings,
                                                                 std::uint64_t seed);

}  // namespace bandana

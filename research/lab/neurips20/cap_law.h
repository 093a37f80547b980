// The direction that privunit reports, drawn from its law.
#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "common/mechanisms/cap_design.h"
#include "common/random/real_samplers.h"

namespace bandana::lab {

// t = <u, v> of an accepted u: with probability design.cap_weight from the density proportional to
// (1 - t^2)^((n - 3)/2) on [g, 1], else on [-1, g). Exact up to doubles, by rejection: from the
// exponential that touches the logarithm of the density at g, and from uniform directions. Errors:
// UNAVAILABLE the source failed.
absl::StatusOr<double> DrawCapCoordinate(const CapDesign& design, RealSampler& sampler);

// u = t v + sqrt(1 - t^2) w, w uniform among the unit vectors orthogonal to v. Requires |v| = 1 to
// rounding and v.size() == u.size() == design.n.
absl::Status DrawCapDirection(const CapDesign& design, std::span<const double> v,
                              RealSampler& sampler, std::span<double> u);

}  // namespace bandana::lab

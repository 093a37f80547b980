// Directions to explore in.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "common/random/real_samplers.h"

namespace bandana {

// Uniform on the unit sphere of R^dimension. Errors: UNAVAILABLE the source failed.
absl::StatusOr<std::vector<double>> DrawDirection(int dimension, RealSampler& sampler);

}  // namespace bandana

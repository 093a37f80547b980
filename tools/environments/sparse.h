// High dimension, few features that matter: the experiments of [FLIP].
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/base/settings.h"
#include "tools/environments/environment.h"

namespace bandana {

// `pool` (3) fresh contexts N(0, Sigma) in R^`dimension` (400), Sigma_ij = 0.1^|i-j|; the first
// `sparsity` (5) entries of beta* are 0.7484, 0.6370, 0.6345, 0.6964, 0.7199 (repeated beyond
// five), the others 0; reward x . beta* + N(0, `noise`^2) (0.1), clipped at six standard deviations
// of x . beta*, one chance in 10^9 per arm. One user. feature_l2_max = sqrt(d) + 6: no context is
// longer in practice (the norm's standard deviation is about 0.7).
absl::StatusOr<std::unique_ptr<Environment>> MakeSparse(Settings& settings, std::uint64_t seed);

// The leading entries of beta* under these settings, whose other keys do not matter. Errors:
// INVALID_ARGUMENT.
absl::StatusOr<std::vector<double>> SparseParameter(Settings settings);

}  // namespace bandana

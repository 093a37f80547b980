// From a sparse model's configuration to the algorithm that its server runs.
#pragma once

#include "absl/status/statusor.h"
#include "common/bandits/sparse/fliphat.h"
#include "common/design/model_spec.h"

namespace bandana {

// R, where residuals are clipped at first: the standard deviation of rewards that the configuration
// lets expect, sqrt(context_stddev^2 theta_max^2 + reward_stddev^2), and never more than the reward
// range's larger magnitude. Reward units. Requires spec.sparse.
double ResidualAbsMax(const ModelSpec& spec);

// Errors: INVALID_ARGUMENT not a sparse model, or an epsilon that is too small for its sparsity.
absl::StatusOr<Fliphat> MakeFliphat(const ModelSpec& spec);

}  // namespace bandana

// SPARSE_RELEASE: a sparse parameter, estimated at the ends of episodes.
#pragma once

#include "common/design/server_mechanism.h"

namespace bandana {

// R, where residuals are clipped at first: the standard deviation of rewards that the configuration
// lets expect, sqrt(context_stddev^2 theta_max^2 + reward_stddev^2), and never more than the reward
// range's larger magnitude. Reward units. Requires spec.sparse.
double ResidualAbsMax(const ModelSpec& spec);

void CheckSparseModel(const ModelSpec& spec, const FieldChecks& checks);
MadeServerMechanism MakeSparseRelease(const ModelSpec& spec);

}  // namespace bandana

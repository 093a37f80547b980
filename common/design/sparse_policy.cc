#include "common/design/sparse_policy.h"

#include <algorithm>
#include <cmath>

#include "common/base/status.h"
#include "common/design/counter_policy.h"

namespace bandana {

double ResidualAbsMax(const ModelSpec& spec) {
  const double predicted = spec.sparse->context_stddev * spec.theta_l2_max;
  return std::min(std::sqrt(predicted * predicted + spec.reward_stddev * spec.reward_stddev),
                  RewardAbsMax(spec.public_spec));
}

absl::StatusOr<Fliphat> MakeFliphat(const ModelSpec& spec) {
  const PublicSpec& p = spec.public_spec;
  if (!spec.sparse) return InvalidArgument("model ", p.name, " is not sparse");
  return Fliphat::Create({.dimension = p.dimension,
                          .epsilon = p.epsilon,
                          .delta = p.delta,
                          .form = FliphatForm::kResidual,
                          .sparsity = spec.sparse->sparsity,
                          .reward_abs_max = ResidualAbsMax(spec),
                          .context_stddev = spec.sparse->context_stddev,
                          .context_abs_max = spec.sparse->context_abs_max});
}

}  // namespace bandana

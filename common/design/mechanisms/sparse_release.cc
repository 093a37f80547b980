#include "common/design/mechanisms/sparse_release.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/design/families/families.h"
#include "common/design/theta_bound.h"

namespace bandana {
namespace {

class SparseMechanism final : public ServerMechanism {
 public:
  explicit SparseMechanism(const Fliphat& part) : part_(part) {}

  const Fliphat* sparse() const override { return &part_; }
  // All that an episode's sums and their noise depend on.
  Fields IdentityFields(const ModelSpec& spec) const override {
    return {{"sparse", absl::StrFormat("entries %d feature %.17g at most %.17g residual at most "
                                       "%.17g",
                                       spec.sparse->sparsity, spec.sparse->context_stddev,
                                       spec.sparse->context_abs_max, ResidualAbsMax(spec))}};
  }
  std::string Describe(const ModelSpec& spec) const override {
    const FliphatOptions& options = part_.options();
    return absl::StrFormat(
        "%s by the server at the ends of episodes of 1, 2, 4, .. events; features clipped at %g, "
        "residuals at %.4g at first; rho %.4g per event",
        spec.public_spec.made->name(), options.context_abs_max, options.reward_abs_max,
        part_.rho().value);
  }

 private:
  const Fliphat part_;
};

}  // namespace

double ResidualAbsMax(const ModelSpec& spec) {
  const double predicted = spec.sparse->context_stddev * spec.theta_l2_max;
  return std::min(std::sqrt(predicted * predicted + spec.reward_stddev * spec.reward_stddev),
                  spec.public_spec.reward_range.abs_max());
}

void CheckSparseModel(const ModelSpec& spec, const FieldChecks& checks) {
  CheckThetaBound(spec, checks);
  if (&FamilyOf(spec) == &SparseFamily()) return;
  checks.Add("privacy.mechanism", "SPARSE_RELEASE is for sparse models");
}

MadeServerMechanism MakeSparseRelease(const ModelSpec& spec) {
  const PublicSpec& p = spec.public_spec;
  BANDANA_ASSIGN_OR_RETURN(const Fliphat fliphat,
                           Fliphat::Create({.dimension = p.dimension,
                                            .epsilon = p.epsilon,
                                            .delta = p.delta,
                                            .form = FliphatForm::kResidual,
                                            .sparsity = spec.sparse->sparsity,
                                            .reward_abs_max = ResidualAbsMax(spec),
                                            .context_stddev = spec.sparse->context_stddev,
                                            .context_abs_max = spec.sparse->context_abs_max}));
  return std::make_shared<SparseMechanism>(fliphat);
}

}  // namespace bandana

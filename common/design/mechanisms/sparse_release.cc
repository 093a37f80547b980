#include "common/design/mechanisms/sparse_release.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/design/families/families.h"
#include "common/design/privacy_rules.h"

namespace bandana {
namespace {

class Sparse final : public Mechanism {
 public:
  Sparse(const MechanismRow& row, v1::Mode mode, const Fliphat& part)
      : Mechanism(row, mode), part_(part) {}

  std::optional<PrivacyCost> cost() const override { return PrivacyCost::Zcdp(part_.rho()); }
  const Fliphat* sparse() const override { return &part_; }
  // All that an episode's sums and their noise depend on.
  std::vector<std::pair<std::string, std::string>> IdentityFields(
      const ModelSpec& spec) const override {
    return {{"sparse", absl::StrFormat("entries %d feature %.17g at most %.17g residual at most "
                                       "%.17g",
                                       spec.sparse->sparsity, spec.sparse->context_stddev,
                                       spec.sparse->context_abs_max, ResidualAbsMax(spec))}};
  }
  std::string Describe(const ModelSpec&) const override {
    const FliphatOptions& options = part_.options();
    return absl::StrFormat(
        "%s by the server at the ends of episodes of 1, 2, 4, .. events; features clipped at %g, "
        "residuals at %.4g at first; rho %.4g per event",
        name(), options.context_abs_max, options.reward_abs_max, part_.rho().value);
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

MadeMechanism MakeSparseRelease(const MechanismRow& row, const ModelSpec& spec) {
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
  return std::make_shared<Sparse>(row, spec.public_spec.mode, fliphat);
}

}  // namespace bandana

#include "common/design/mechanisms/sparse_release.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/design/sparse_policy.h"

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
        "residuals at %.4g at first; rho %.4g of an event",
        name(), options.context_abs_max, options.reward_abs_max, part_.rho().value);
  }

 private:
  const Fliphat part_;
};

}  // namespace

MadeMechanism MakeSparseRelease(const MechanismRow& row, const ModelSpec& spec) {
  BANDANA_ASSIGN_OR_RETURN(const Fliphat fliphat, MakeFliphat(spec));
  return std::make_shared<Sparse>(row, spec.public_spec.mode, fliphat);
}

}  // namespace bandana

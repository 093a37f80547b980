#include "common/design/context_mechanism.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/bandits/link.h"

namespace bandana {
namespace {

// All reports of a model's life, far beyond any: their variances must stay inside double's and the
// posterior's range.
constexpr double kContextReportsMax = 0x1p40;
constexpr double kNoiseVarianceMax = 1e30;  // NoisyStatistics

class Contexts final : public Mechanism {
 public:
  Contexts(const MechanismRow& row, v1::Mode mode, std::unique_ptr<const ContextReports> reports)
      : Mechanism(row, mode), reports_(std::move(reports)) {}

  std::optional<PrivacyCost> cost() const override { return reports_->cost(); }
  const ContextReports* contexts() const override { return reports_.get(); }
  std::optional<ContextSpec> agreed() const override { return reports_->spec(); }
  void Check(const ModelSpec& spec, const FieldChecks& checks) const override {
    const ReportVariance one = reports_->variance();
    const double variance = one.moment + one.gram * spec.theta_l2_max * spec.theta_l2_max;
    if (one.gram * kContextReportsMax <= kNoiseVarianceMax &&
        variance * kContextReportsMax <= kNoiseVarianceMax) {
      return;
    }
    checks.Add("feature_l2_max",
               "and the reward range are too large for the noise of mode LOCAL_CONTEXT: rescale "
               "features and rewards");
  }
  // All that a report's noise and its decoding depend on.
  std::vector<std::pair<std::string, std::string>> IdentityFields(
      const ModelSpec& spec) const override {
    const ContextSpec agreed = reports_->spec();
    return {{"context", absl::StrCat(agreed.grid_bits, " ", ToHex(agreed.parameters), " l2 ",
                                     absl::StrFormat("%.17g", spec.public_spec.feature_l2_max))}};
  }
  std::string Describe(const ModelSpec& spec) const override {
    const ReportVariance one = reports_->variance();
    const Link link = spec.public_spec.link;
    return absl::StrFormat(
        "%s on the device%s, noise sd of a report %.3g in x x', %.3g in r x; |theta| up to %g "
        "weighed",
        name(), link == Link::kLogistic ? " of straightened events" : "", std::sqrt(one.gram),
        std::sqrt(one.moment), spec.theta_l2_max / LinkSlope(link, 0));
  }

 private:
  const std::unique_ptr<const ContextReports> reports_;
};

}  // namespace

double ReportedRewardAbsMax(const PublicSpec& spec) {
  return std::max(std::abs(StraightReward(spec.link, spec.reward_range.min)),
                  std::abs(StraightReward(spec.link, spec.reward_range.max)));
}

absl::StatusOr<JointStatistic> ReportedStatistic(const PublicSpec& spec, int grid_bits) {
  return JointStatistic::Create({.dimension = spec.dimension,
                                 .context_l2_max = spec.feature_l2_max,
                                 .reward_abs_max = ReportedRewardAbsMax(spec),
                                 .grid_bits = grid_bits});
}

MadeMechanism MakeContextMechanism(const MechanismRow& row, const PublicSpec& spec,
                                   std::unique_ptr<const ContextReports> reports) {
  return std::make_shared<Contexts>(row, spec.mode, std::move(reports));
}

}  // namespace bandana

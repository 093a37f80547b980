#include "common/promise/context_mechanism.h"

#include <algorithm>
#include <cmath>

#include "common/ranking/link.h"

namespace bandana {
namespace {

class Contexts final : public Mechanism {
 public:
  Contexts(const MechanismRow& row, Mode mode, std::unique_ptr<const ContextReports> reports)
      : Mechanism(row, mode), reports_(std::move(reports)) {}

  std::optional<PrivacyCost> cost() const override { return reports_->cost(); }
  const ContextReports* contexts() const override { return reports_.get(); }
  std::optional<ContextSpec> agreed() const override { return reports_->spec(); }

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

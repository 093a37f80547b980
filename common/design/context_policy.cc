#include "common/design/context_policy.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/mechanisms/canonical_text.h"
#include "common/mechanisms/noise_grid.h"

namespace bandana {
namespace {

absl::StatusOr<JointStatistic> StatisticOf(const PublicSpec& spec, int grid_bits) {
  return JointStatistic::Create({.dimension = spec.dimension,
                                 .context_l2_max = spec.feature_l2_max,
                                 .reward_abs_max = ReportedRewardAbsMax(spec),
                                 .grid_bits = grid_bits});
}

}  // namespace

absl::StatusOr<ContextMechanism> ContextMechanism::Create(const PublicSpec& spec) {
  if (spec.mechanism == v1::PRIVUNIT) {
    BANDANA_ASSIGN_OR_RETURN(const JointStatistic statistic,
                             StatisticOf(spec, JointStatistic::Options{}.grid_bits));
    BANDANA_ASSIGN_OR_RETURN(const PrivUnit privunit, PrivUnit::Create(statistic, spec.epsilon));
    const CapDesign& design = privunit.design();
    if (!(design.n / design.acceptance <= kPrivUnitNormalsMax)) {
      return InvalidArgument("PRIVUNIT at epsilon ", spec.epsilon.value, " and dimension ",
                             spec.dimension, " costs a device ", design.n / design.acceptance,
                             " normals a report, at most ", kPrivUnitNormalsMax,
                             " are served: lower epsilon, or use fewer features");
    }
    ContextMechanism mechanism(statistic);
    mechanism.privunit_.emplace(privunit);
    return mechanism;
  }
  if (spec.mechanism != v1::JOINT_GAUSSIAN) {
    return InvalidArgument("model ", spec.name, " has no mechanism for contexts: its mechanism is ",
                           v1::Mechanism_Name(spec.mechanism));
  }
  if (spec.dimension > kJointGaussianDimensionMax) {
    return InvalidArgument("dimension must be at most ", kJointGaussianDimensionMax,
                           " for JOINT_GAUSSIAN, got ", spec.dimension);
  }
  BANDANA_ASSIGN_OR_RETURN(const int grid_bits,
                           JointGridBits(spec.dimension, spec.epsilon, spec.delta));
  BANDANA_ASSIGN_OR_RETURN(const JointStatistic statistic, StatisticOf(spec, grid_bits));
  BANDANA_ASSIGN_OR_RETURN(GaussianMechanism gaussian,
                           GaussianMechanism::Create({.epsilon = spec.epsilon,
                                                      .delta = spec.delta,
                                                      .size = statistic.size(),
                                                      .sensitivity = statistic.l2_sensitivity()}));
  ContextMechanism mechanism(statistic);
  mechanism.gaussian_.emplace(gaussian);
  return mechanism;
}

PrivacyCost ContextMechanism::cost() const {
  return privunit_ ? privunit_->descriptor().cost : gaussian_->ComposedCost();
}

ReportVariance ContextMechanism::variance() const {
  if (privunit_) {
    const JointVariance variance = privunit_->EntryVariance();
    return {.gram = variance.gram_diagonal, .moment = variance.moment};
  }
  const double phi =
      std::ldexp(static_cast<double>(gaussian_->sigma_squared()), -2 * statistic_.grid_bits());
  const double l = statistic_.context_l2_max();
  const double r = statistic_.reward_abs_max();
  return {.gram = phi * l * l * l * l, .moment = phi * l * l * r * r};
}

ContextSpec ContextMechanism::spec() const {
  ContextSpec spec{.grid_bits = statistic_.grid_bits()};
  if (privunit_) {
    spec.parameters = privunit_->descriptor().parameters;
  } else {
    // Without sigma: each side calibrates its own, and their libm may differ in a last bit, which
    // changes neither the guarantee nor what a report means.
    spec.parameters = CanonicalText("bandana joint gaussian 1")
                          .Add(std::uint64_t{statistic_.size()})
                          .Add(statistic_.l2_sensitivity().value)
                          .Hash();
  }
  return spec;
}

absl::StatusOr<JointEstimate> ContextMechanism::Decode(const PublicSeed& seed) const {
  BANDANA_CHECK(privunit_.has_value());
  return privunit_->Decode(seed);
}

bool ContextMechanism::Fits(std::span<const std::int64_t> values) const {
  BANDANA_CHECK(gaussian_.has_value());
  const double bound = std::ldexp(1.0, statistic_.grid_bits()) +
                       64 * std::sqrt(static_cast<double>(gaussian_->sigma_squared()));
  return values.size() == statistic_.size() &&
         std::all_of(values.begin(), values.end(), [bound](std::int64_t value) {
           return std::abs(static_cast<double>(value)) <= bound;
         });
}

JointEstimate ContextMechanism::Decode(std::span<const std::int64_t> values) const {
  BANDANA_CHECK(Fits(values));
  std::vector<double> phi(values.size());
  for (std::size_t i = 0; i < phi.size(); ++i) {
    phi[i] = std::ldexp(static_cast<double>(values[i]), -statistic_.grid_bits());
  }
  return statistic_.Unpack(phi);
}

}  // namespace bandana

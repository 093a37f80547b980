#include "common/promise/mechanisms/joint_gaussian.h"

#include <algorithm>
#include <cmath>

#include "common/base/status.h"
#include "common/mechanisms/canonical_text.h"
#include "common/mechanisms/gaussian_mechanism.h"
#include "common/mechanisms/noise_grid.h"
#include "common/promise/context_mechanism.h"

namespace bandana {
namespace {

class Integers final : public ContextReports {
 public:
  Integers(const JointStatistic& statistic, const GaussianMechanism& gaussian)
      : ContextReports(statistic), gaussian_(gaussian) {}

  PrivacyCost cost() const override { return gaussian_.ComposedCost(); }
  ReportVariance variance() const override {
    const double phi = std::ldexp(sigma_squared(), -2 * statistic().grid_bits());
    const double l = statistic().context_l2_max();
    const double r = statistic().reward_abs_max();
    return {.gram = phi * l * l * l * l, .moment = phi * l * l * r * r};
  }
  // Without sigma: each side calibrates its own, and their libm may differ in a last bit, which
  // changes neither the guarantee nor what a report means.
  ContextSpec spec() const override {
    return {.grid_bits = statistic().grid_bits(),
            .parameters = CanonicalText("bandana joint gaussian 1")
                              .Add(std::uint64_t{statistic().size()})
                              .Add(statistic().l2_sensitivity().value)
                              .Hash()};
  }
  std::size_t seed_size() const override { return 0; }
  std::size_t values_size() const override { return statistic().size(); }

  absl::StatusOr<PerturbedContext> Draw(const ClippedStatistics& statistics,
                                        BitSource& bits) const override {
    return gaussian_.Perturb(statistics, bits);
  }
  // As many integers as phi has coordinates, each within phi's bound and 64 deviations of the
  // noise.
  bool Fits(const ContextReport& report) const override {
    const double bound = std::ldexp(1.0, statistic().grid_bits()) + 64 * std::sqrt(sigma_squared());
    return report.seed.empty() && report.values.size() == values_size() &&
           std::all_of(report.values.begin(), report.values.end(), [bound](std::int64_t value) {
             return std::abs(static_cast<double>(value)) <= bound;
           });
  }
  absl::StatusOr<JointEstimate> Decode(const ContextReport& report) const override {
    if (!Fits(report)) return DataLoss("a context report's integers do not fit");
    std::vector<double> phi(report.values.size());
    for (std::size_t i = 0; i < phi.size(); ++i) {
      phi[i] = std::ldexp(static_cast<double>(report.values[i]), -statistic().grid_bits());
    }
    return statistic().Unpack(phi);
  }

 private:
  double sigma_squared() const { return static_cast<double>(gaussian_.sigma_squared()); }

  const GaussianMechanism gaussian_;
};

}  // namespace

MadeMechanism MakeJointGaussian(const MechanismRow& row, const PublicSpec& spec) {
  if (spec.dimension > kJointGaussianDimensionMax) {
    return InvalidArgument("dimension must be at most ", kJointGaussianDimensionMax,
                           " for JOINT_GAUSSIAN, got ", spec.dimension);
  }
  BANDANA_ASSIGN_OR_RETURN(const int grid_bits,
                           JointGridBits(spec.dimension, spec.epsilon, spec.delta));
  BANDANA_ASSIGN_OR_RETURN(const JointStatistic statistic, ReportedStatistic(spec, grid_bits));
  BANDANA_ASSIGN_OR_RETURN(const GaussianMechanism gaussian,
                           GaussianMechanism::Create({.epsilon = spec.epsilon,
                                                      .delta = spec.delta,
                                                      .size = statistic.size(),
                                                      .sensitivity = statistic.l2_sensitivity()}));
  return MakeContextMechanism(row, spec, std::make_unique<Integers>(statistic, gaussian));
}

}  // namespace bandana

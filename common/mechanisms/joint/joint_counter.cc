#include "common/mechanisms/joint/joint_counter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/accounting/gaussian.h"
#include "common/accounting/ranges.h"
#include "common/accounting/zcdp.h"
#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/mechanisms/counters/epoch_schedule.h"
#include "common/mechanisms/counters/erase.h"

namespace bandana {
namespace {

// CounterDesign puts sigma between 2^25 and 2^26 grid steps and a little above.
constexpr double kSigmaStepsMin = 0x1p25;
constexpr double kOutward = 1 + 0x1p-40;

absl::Status CheckOptions(const JointCounter::Options& options) {
  if (!(options.epsilon.value > 0 && options.epsilon.value <= kEpsilonResearchMax)) {
    return InvalidArgument("epsilon must be in (0, ", kEpsilonResearchMax, "], got ",
                           options.epsilon.value);
  }
  BANDANA_RETURN_IF_ERROR(CheckDelta(options.delta));
  if (options.kind != CounterKind::kEpochs && options.kind != CounterKind::kBlt) {
    return InvalidArgument("kind must be epochs or blt, got ",
                           ToAbsl(CounterKindName(options.kind)));
  }
  return absl::OkStatus();
}

// phi in the units that JointStatistic clips to: a coordinate's step is 2^-kGridBitsMax.
absl::StatusOr<CounterDesign> Design(const JointCounter::Options& options,
                                     const JointStatistic& statistic, Rho rho) {
  CounterOptions counter;
  counter.kind = options.kind;
  counter.dimension = statistic.size();
  counter.norm_bound = 1.4142135623730951 * kOutward;  // |phi| <= sqrt 2
  counter.sensitivity = std::ldexp(statistic.l2_sensitivity().value, -statistic.grid_bits());
  counter.rho = rho;
  counter.horizon = options.horizon;
  counter.step_cap = options.step_cap;
  return CounterDesign::Create(counter);
}

}  // namespace

// PROOF: joint_counter begin
absl::StatusOr<JointCounter> JointCounter::Create(const Options& options) {
  BANDANA_RETURN_IF_ERROR(CheckOptions(options));
  BANDANA_ASSIGN_OR_RETURN(const JointStatistic statistic,
                           JointStatistic::Create({.dimension = options.dimension,
                                                   .context_l2_max = options.context_l2_max,
                                                   .reward_abs_max = options.reward_abs_max,
                                                   .grid_bits = JointStatistic::kGridBitsMax}));
  BANDANA_ASSIGN_OR_RETURN(const Rho zcdp, CalibrateZcdp(options.epsilon, options.delta));
  BANDANA_ASSIGN_OR_RETURN(const CounterDesign fallback, Design(options, statistic, zcdp));

  // One node a release; every value released is one discrete Gaussian.
  const std::uint64_t releases =
      options.kind == CounterKind::kEpochs ? EpochsEndedBy(options.step_cap) : options.step_cap;
  BANDANA_ASSIGN_OR_RETURN(
      const Delta slack,
      DiscreteGaussianSlack(options.epsilon, static_cast<long>(releases * statistic.size()),
                            kSigmaStepsMin));
  BANDANA_ASSIGN_OR_RETURN(
      const TotalVariation variation,
      DiscreteGaussianVariation(static_cast<long>(releases * statistic.size()), kSigmaStepsMin));
  const double rest = (options.delta.value - slack.value * kOutward) / kOutward;
  if (rest > 0) {
    BANDANA_ASSIGN_OR_RETURN(const Mu mu, CalibrateGaussian(options.epsilon, {rest}));
    const Rho rho = {mu.value * mu.value / 2};
    if (rho.value > zcdp.value) {
      BANDANA_ASSIGN_OR_RETURN(const CounterDesign design, Design(options, statistic, rho));
      const double sigma_squared = static_cast<double>(design.sigma_squared());
      // mu = Delta' / sigma, and the design's cost is Delta'^2 / (2 sigma^2), rounded up.
      const Mu spent = {std::sqrt(2 * design.cost().value) * kOutward};
      if (sigma_squared >= kSigmaStepsMin * kSigmaStepsMin) {
        return JointCounter(options, statistic, design, PrivacyCost::Gaussian(spent, variation));
      }
    }
  }
  return JointCounter(options, statistic, fallback, PrivacyCost::Zcdp(fallback.cost()));
}

JointCounter::JointCounter(const Options& options, const JointStatistic& statistic,
                           const CounterDesign& design, const PrivacyCost& cost)
    : options_(options), statistic_(statistic), design_(design), cost_(cost) {}

ClippedIncrement JointCounter::Clip(const RawInteraction& interaction) const {
  const ClippedStatistics statistics = statistic_.Clip(interaction);
  std::vector<double> phi(statistics.grid_.size());  // exact: below 2^27 steps
  for (std::size_t i = 0; i < phi.size(); ++i)
    phi[i] = std::ldexp(static_cast<double>(statistics.grid_[i]), statistics.log2_step_);
  absl::StatusOr<ClippedIncrement> increment = ClippedIncrement::Clip(phi, design_.grid());
  Erase(phi);
  BANDANA_CHECK(increment.ok());  // of the design's length
  return *std::move(increment);
}
// PROOF: joint_counter end

JointSums JointCounter::Predict(std::uint64_t step) const {
  const double variance = design_.PredictedVariance(step);
  const double context = options_.context_l2_max * options_.context_l2_max;
  const double reward = options_.reward_abs_max * options_.reward_abs_max;
  return {.covered = design_.Covered(step),
          .gram_variance = variance * context * context,
          .moment_variance = variance * context * reward};
}

JointSums JointCounter::Read(const CounterDecoder& decoder) const {
  BANDANA_CHECK(decoder.design().digest() == design_.digest());
  JointSums sums = Predict(decoder.step());
  JointEstimate estimate = statistic_.Unpack(decoder.Estimate());
  sums.gram = std::move(estimate.gram);
  sums.moment = std::move(estimate.moment);
  return sums;
}

}  // namespace bandana

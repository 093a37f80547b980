#include "common/bandits/sparse/fliphat.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/accounting/zcdp.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/mechanisms/canonical_text.h"

namespace bandana {
namespace {

constexpr int kDimensionMaxSparse = 1 << 20;
// Residual form. The largest noise, in residual standard deviations over a feature's, that a value
// is worth: with more the episode only measures the residuals.
constexpr double kNoiseMax = 0.25;
// The count is believed when its noise is below this share of the rows.
constexpr double kCountNoiseMax = 1.0 / 16;

absl::Status CheckRange(const char* name, double value, double min, double max) {
  if (!(value >= min && value <= max)) {
    return InvalidArgument(name, " must be in [", min, ", ", max, "], got ", value);
  }
  return absl::OkStatus();
}

ResidualUpdateOptions UpdateOptions(const FliphatOptions& options) {
  return {.dimension = options.dimension,
          .context_abs_max = options.context_abs_max,
          .context_stddev = options.context_stddev,
          .residual_abs_max = options.reward_abs_max};
}

}  // namespace

absl::StatusOr<Fliphat> Fliphat::Create(const FliphatOptions& options) {
  if (options.dimension < 1 || options.dimension > kDimensionMaxSparse) {
    return InvalidArgument("dimension must be in [1, ", kDimensionMaxSparse, "], got ",
                           options.dimension);
  }
  if (options.sparsity < 1 || options.sparsity > options.dimension) {
    return InvalidArgument("sparsity must be in [1, dimension = ", options.dimension, "], got ",
                           options.sparsity);
  }
  if (!(options.epsilon.value > 0 && options.epsilon.value <= kEpsilonResearchMax)) {
    return InvalidArgument("epsilon must be in (0, ", kEpsilonResearchMax, "], got ",
                           options.epsilon.value);
  }
  BANDANA_RETURN_IF_ERROR(
      CheckRange("reward_abs_max", options.reward_abs_max, 1 / kRewardAbsMax, kRewardAbsMax));
  BANDANA_RETURN_IF_ERROR(
      CheckRange("context_stddev", options.context_stddev, 1 / kScaleMax, kScaleMax));
  BANDANA_RETURN_IF_ERROR(
      CheckRange("context_abs_max", options.context_abs_max, 1 / kScaleMax, kScaleMax));
  BANDANA_ASSIGN_OR_RETURN(const Rho rho, CalibrateZcdp(options.epsilon, options.delta));
  // The largest release there can be has to fit.
  BANDANA_RETURN_IF_ERROR(
      Annotate(SparseRelease::Create({.given = 0, .picks = options.sparsity, .rho = rho}).status(),
               "epsilon is too small for this sparsity"));
  return Fliphat(options, rho);
}

FliphatState Fliphat::Start() const {
  return {.episode = 0,
          .belief = {.residual_abs_max = options_.reward_abs_max},
          .sums = SparseSums(options_.dimension)};
}

Sha256Digest Fliphat::digest() const {
  return CanonicalText("bandana fliphat 1")
      .Add(static_cast<std::uint64_t>(options_.dimension))
      .Add(options_.epsilon.value)
      .Add(options_.delta.value)
      .Add(std::uint64_t{options_.form == FliphatForm::kForgetting})
      .Add(static_cast<std::uint64_t>(options_.sparsity))
      .Add(options_.reward_abs_max)
      .Add(options_.context_stddev)
      .Add(options_.context_abs_max)
      .Hash();
}

// PROOF: fliphat begin
absl::StatusOr<SparseRelease::Options> Fliphat::PlanRelease(const SparseBelief& belief,
                                                            std::uint64_t rows) const {
  if (options_.form == FliphatForm::kForgetting) {
    return SparseRelease::Options{.picks = options_.sparsity, .rho = rho_, .scales = false};
  }
  const auto known = static_cast<int>(belief.estimate.size());
  const SparseRelease::Options values = {
      .given = known,
      .picks = std::min((options_.sparsity + 1) / 2, options_.sparsity - known),
      .rho = rho_};
  BANDANA_ASSIGN_OR_RETURN(const SparseRelease release, SparseRelease::Create(values));
  const double noise =
      release.stddev() * StepPerContribution(UpdateOptions(options_), belief.residual_abs_max,
                                             static_cast<double>(rows), kShareExpected);
  if (noise <= kNoiseMax * belief.residual_abs_max / options_.context_stddev) return values;
  return SparseRelease::Options{.rho = rho_};
}

absl::StatusOr<SparseBelief> Fliphat::EndEpisode(const SparseBelief& belief, const SparseSums& sums,
                                                 BitSource& bits) const {
  BANDANA_ASSIGN_OR_RETURN(const SparseRelease::Options plan, PlanRelease(belief, sums.rows()));
  BANDANA_ASSIGN_OR_RETURN(const SparseRelease release, SparseRelease::Create(plan));
  std::vector<int> given;
  if (plan.given > 0) {
    for (const SparseEntry& entry : belief.estimate) given.push_back(entry.coordinate);
  } else if (plan.picks == 0 &&
             release.count_stddev() > kCountNoiseMax * static_cast<double>(sums.rows())) {
    return belief;  // too short to say anything: nothing is released
  }
  BANDANA_ASSIGN_OR_RETURN(const ReleasedSums released, release.Release(sums, given, bits));
  if (options_.form == FliphatForm::kForgetting) {
    SparseBelief next = {.residual_abs_max = belief.residual_abs_max};
    for (std::size_t i = 0; i < released.coordinates.size(); ++i) {
      next.estimate.push_back({released.coordinates[i], released.sums[i]});
    }
    return next;
  }
  SparseBelief next =
      UpdateByResiduals(belief, released, release.stddev(), UpdateOptions(options_));
  if (released.coordinates.empty()) next.estimate = belief.estimate;
  return next;
}

namespace {

NoiseInput InputOf(const SparseSums& sums) {
  const SealedState sealed = sums.Seal();
  return NoiseInput(Sha256().Update("bandana sparse sums 1").Update(sealed.bytes()).Finish());
}

}  // namespace

absl::Status Fliphat::Apply(FliphatState& state, std::span<const double> x, double reward,
                            const EpisodeBits& bits) const {
  if (x.size() != static_cast<std::size_t>(options_.dimension)) {
    return InvalidArgument("features must have ", options_.dimension, " numbers, got ", x.size());
  }
  if (state.episode >= kEpisodesMax) {
    return FailedPrecondition("fliphat ends after ", kEpisodesMax, " episodes");
  }
  const double predicted =
      options_.form == FliphatForm::kResidual ? Predict(state.belief.estimate, x) : 0;
  const double energy = PredictionEnergy(state.belief.estimate, predicted, options_.context_stddev);
  const SparseSums::Clip clip = {.context_abs_max = options_.context_abs_max,
                                 .residual_abs_max = state.belief.residual_abs_max};
  if (state.sums.rows() + 1 < std::uint64_t{1} << state.episode) {
    state.sums.Add(x, reward - predicted, energy, clip);
    return absl::OkStatus();
  }
  SparseSums whole = state.sums;
  whole.Add(x, reward - predicted, energy, clip);
  BANDANA_ASSIGN_OR_RETURN(BitSource* const source, bits(state.episode, InputOf(whole)));
  BANDANA_ASSIGN_OR_RETURN(state.belief, EndEpisode(state.belief, whole, *source));
  state.sums.Clear();
  ++state.episode;
  return absl::OkStatus();
}
// PROOF: fliphat end

}  // namespace bandana

#include "common/mechanisms/gaussian_mechanism.h"

#include <cmath>
#include <utility>
#include <vector>

#include "common/accounting/gaussian.h"
#include "common/accounting/ranges.h"
#include "common/accounting/rounding.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/mechanisms/canonical_text.h"
#include "common/mechanisms/integer_clip.h"

namespace bandana {
namespace {

absl::Status CheckOptions(const GaussianMechanism::Options& options) {
  if (!(options.epsilon.value > 0 && options.epsilon.value <= kEpsilonResearchMax)) {
    return InvalidArgument("epsilon must be in (0, ", kEpsilonResearchMax, "], got ",
                           options.epsilon.value);
  }
  BANDANA_RETURN_IF_ERROR(CheckDelta(options.delta));
  if (options.size < 1 || options.size > kClipCoordinatesMax) {
    return InvalidArgument("size must be in [1, ", kClipCoordinatesMax, "], got ", options.size);
  }
  if (!(options.sensitivity.value >= 1 && options.sensitivity.value <= kClipBoundMax)) {
    return InvalidArgument("sensitivity must be in [1, 2^40] grid steps, got ",
                           options.sensitivity.value);
  }
  return absl::OkStatus();
}

}  // namespace

// PROOF: joint_gaussian begin
absl::StatusOr<GaussianMechanism> GaussianMechanism::Create(const Options& options) {
  BANDANA_RETURN_IF_ERROR(CheckOptions(options));
  // The slack falls in sigma: the one at the sigma for all of delta bounds the one at the larger
  // sigma for what is left of delta.
  BANDANA_ASSIGN_OR_RETURN(const Mu first, CalibrateGaussian(options.epsilon, options.delta));
  const double sigma_first = options.sensitivity.value / first.value;
  if (!(sigma_first >= 2)) {
    return InvalidArgument("sigma must be at least 2 grid steps: take a finer grid");
  }
  BANDANA_ASSIGN_OR_RETURN(
      const Delta slack,
      DiscreteGaussianSlack(options.epsilon, static_cast<long>(options.size), sigma_first));
  // Subtraction rounds; 2^-48 outward covers it.
  const double rest = (options.delta.value - slack.value * kOutward) / kOutward;
  if (!(rest > 0)) {
    return InvalidArgument("delta is used up by the discretisation: take a finer grid");
  }
  BANDANA_ASSIGN_OR_RETURN(const Mu mu, CalibrateGaussian(options.epsilon, {rest}));
  const double sigma = options.sensitivity.value / mu.value;
  const double sigma_squared = std::ceil(sigma * sigma * kOutward);
  if (!(sigma_squared <= static_cast<double>(DiscreteGaussian::kSigmaSquaredMax))) {
    return InvalidArgument("sigma must be below 2^26.5 grid steps: take a coarser grid");
  }
  BANDANA_ASSIGN_OR_RETURN(DiscreteGaussian noise,
                           DiscreteGaussian::Create(static_cast<std::uint64_t>(sigma_squared)));
  BANDANA_ASSIGN_OR_RETURN(const TotalVariation variation,
                           DiscreteGaussianVariation(static_cast<long>(options.size), sigma_first));
  return GaussianMechanism(options, noise, variation);
}

GaussianMechanism::GaussianMechanism(const Options& options, DiscreteGaussian noise,
                                     TotalVariation variation)
    : options_(options), noise_(noise) {
  const double sigma = std::sqrt(static_cast<double>(noise_.sigma_squared()));
  descriptor_ = {
      .name = "gaussian",
      .label = GuaranteeLabel::kProven,
      .sensitivity = options.sensitivity.value,
      .cost = PrivacyCost::Gaussian({options.sensitivity.value / sigma * kOutward}, variation),
      .parameters = CanonicalText("bandana gaussian 1")
                        .Add(std::uint64_t{options.size})
                        .Add(options.sensitivity.value)
                        .Add(noise_.sigma_squared())
                        .Hash()};
}

PrivacyCost GaussianMechanism::ComposedCost() const {
  const double sensitivity = options_.sensitivity.value;
  return PrivacyCost::Zcdp(
      {sensitivity * sensitivity / (2 * static_cast<double>(noise_.sigma_squared())) * kOutward});
}

absl::StatusOr<PerturbedStatistics> GaussianMechanism::Perturb(const ClippedStatistics& statistics,
                                                               BitSource& bits) const {
  if (statistics.grid_.size() != options_.size ||
      !(statistics.l2_sensitivity_ <= options_.sensitivity.value)) {
    return InvalidArgument("statistics must have ", options_.size,
                           " coordinates and L2 sensitivity at most ", options_.sensitivity.value);
  }
  std::vector<std::int64_t> released(statistics.grid_.size());
  for (std::size_t i = 0; i < released.size(); ++i) {
    BANDANA_ASSIGN_OR_RETURN(const std::int64_t noise, noise_.Sample(bits));
    released[i] = statistics.grid_[i] + noise;  // below 2^41 + 2^38: no overflow
  }
  return PerturbedStatistics(std::move(released), statistics.log2_step_);
}
// PROOF: joint_gaussian end

}  // namespace bandana

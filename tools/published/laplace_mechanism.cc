#include "tools/published/laplace_mechanism.h"

#include <cmath>
#include <utility>
#include <vector>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/mechanisms/canonical_text.h"
#include "common/mechanisms/integer_clip.h"
#include "common/random/samplers.h"

namespace bandana {
namespace {

// Larger than any rounding error of the division beside it.
constexpr double kOutward = 1 + 0x1p-48;

}  // namespace

// PROOF: laplace begin
absl::StatusOr<LaplaceMechanism> LaplaceMechanism::Create(const Options& options) {
  if (!(options.epsilon.value > 0 && options.epsilon.value <= kEpsilonResearchMax)) {
    return InvalidArgument("epsilon must be in (0, ", kEpsilonResearchMax, "], got ",
                           options.epsilon.value);
  }
  if (options.size < 1 || options.size > kClipCoordinatesMax) {
    return InvalidArgument("size must be in [1, ", kClipCoordinatesMax, "], got ", options.size);
  }
  if (!(options.sensitivity.value >= 1 && options.sensitivity.value <= 0x1p50)) {
    return InvalidArgument("sensitivity must be in [1, 2^50] grid steps, got ",
                           options.sensitivity.value);
  }
  const double scale = std::ceil(options.sensitivity.value / options.epsilon.value * kOutward);
  if (!(scale <= static_cast<double>(ExactScale::kTermMax))) {
    return InvalidArgument("sensitivity / epsilon must be at most 2^50 grid steps: coarser grid");
  }
  return LaplaceMechanism(options, static_cast<std::uint64_t>(scale));
}

LaplaceMechanism::LaplaceMechanism(const Options& options, std::uint64_t scale)
    : options_(options), scale_(scale) {
  // Not what was asked for but what is spent: sensitivity / scale <= epsilon.
  const double spent = options.sensitivity.value / static_cast<double>(scale) * kOutward;
  descriptor_ = {.name = "laplace",
                 .label = GuaranteeLabel::kProven,
                 .sensitivity = options.sensitivity.value,
                 .cost = PrivacyCost::Pure({spent}),
                 .parameters = CanonicalText("bandana laplace 1")
                                   .Add(std::uint64_t{options.size})
                                   .Add(options.sensitivity.value)
                                   .Add(scale)
                                   .Hash()};
}

absl::StatusOr<PerturbedStatistics> LaplaceMechanism::Perturb(const ClippedStatistics& statistics,
                                                              BitSource& bits) const {
  if (statistics.grid_.size() != options_.size ||
      !(statistics.l1_sensitivity_ <= options_.sensitivity.value)) {
    return InvalidArgument("statistics must have ", options_.size,
                           " coordinates and L1 sensitivity at most ", options_.sensitivity.value);
  }
  std::vector<std::int64_t> released(statistics.grid_.size());
  for (std::size_t i = 0; i < released.size(); ++i) {
    BANDANA_ASSIGN_OR_RETURN(const std::int64_t noise,
                             DiscreteLaplace({.numerator = scale_}, bits));
    released[i] = statistics.grid_[i] + noise;  // below 2^41 + 2^62: no overflow
  }
  return PerturbedStatistics(std::move(released), statistics.log2_step_);
}
// PROOF: laplace end

}  // namespace bandana

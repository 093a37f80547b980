#include "tools/published/published_noise.h"

#include <cmath>

#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/mechanisms/canonical_text.h"
#include "common/mechanisms/integer_clip.h"
#include "common/random/real_samplers.h"

namespace bandana {

// PROOF: published begin
absl::StatusOr<PublishedNoise> PublishedNoise::Create(const Options& options) {
  if (!(options.epsilon.value >= 1e-9 && options.epsilon.value <= kEpsilonResearchMax)) {
    return InvalidArgument("epsilon must be in [1e-9, ", kEpsilonResearchMax, "], got ",
                           options.epsilon.value);
  }
  if (options.size < 1 || options.size > kClipCoordinatesMax) {
    return InvalidArgument("size must be in [1, ", kClipCoordinatesMax, "], got ", options.size);
  }
  if (!(options.sensitivity.value >= 1e-100 && options.sensitivity.value <= 1e100)) {
    return InvalidArgument("sensitivity must be in [1e-100, 1e100], got ",
                           options.sensitivity.value);
  }
  return PublishedNoise(options);
}

PublishedNoise::PublishedNoise(const Options& options) : options_(options) {
  const bool laplace = options.kind == PublishedNoiseKind::kCoordinateLaplace;
  descriptor_ = {
      .name = laplace ? "published-coordinate-laplace" : "published-l2-norm",
      .label = GuaranteeLabel::kPublished,
      .sensitivity = options.sensitivity.value,
      .cost = PrivacyCost::Pure(options.epsilon),
      .parameters = CanonicalText(laplace ? "bandana coordinate laplace 1" : "bandana l2 norm 1")
                        .Add(std::uint64_t{options.size})
                        .Add(options.sensitivity.value)
                        .Add(options.epsilon.value)
                        .Hash()};
}

absl::Status PublishedNoise::Sample(std::span<double> noise, BitSource& bits) const {
  BANDANA_CHECK(noise.size() == options_.size);
  RealSampler sampler(bits);
  if (options_.kind == PublishedNoiseKind::kCoordinateLaplace) {
    for (double& value : noise) {
      BANDANA_ASSIGN_OR_RETURN(const double laplace, sampler.Laplace());
      value = laplace * scale();
    }
    return absl::OkStatus();
  }
  BANDANA_ASSIGN_OR_RETURN(const double radius, sampler.Gamma(static_cast<double>(noise.size())));
  BANDANA_RETURN_IF_ERROR(sampler.FillNormal(noise));
  double squares = 0;
  for (const double value : noise) squares += value * value;
  const double factor = radius * scale() / std::sqrt(squares);
  for (double& value : noise) value *= factor;
  return absl::OkStatus();
}
// PROOF: published end

}  // namespace bandana

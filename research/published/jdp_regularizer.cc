#include "research/published/jdp_regularizer.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/accounting/ranges.h"
#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr std::uint64_t kHorizonMax = std::uint64_t{1} << 40;

absl::Status CheckBound(const char* name, double bound) {
  if (!(bound >= 1 / kRewardAbsMax && bound <= kRewardAbsMax)) {
    return InvalidArgument(name, " must be in [1e-9, 1e9], got ", bound);
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const JdpOptions& options) {
  if (!(options.epsilon.value >= 1e-9 && options.epsilon.value <= kEpsilonResearchMax)) {
    return InvalidArgument("epsilon must be in [1e-9, ", kEpsilonResearchMax, "], got ",
                           options.epsilon.value);
  }
  BANDANA_RETURN_IF_ERROR(CheckDelta(options.delta));
  if (!(options.alpha > 0 && options.alpha < 1)) {
    return InvalidArgument("alpha must be in (0, 1), got ", options.alpha);
  }
  if (options.dimension < 1 || options.dimension > kDimensionMax) {
    return InvalidArgument("dimension must be in [1, ", kDimensionMax, "], got ",
                           options.dimension);
  }
  if (options.horizon < 1 || options.horizon > kHorizonMax) {
    return InvalidArgument("horizon must be in [1, 2^40], got ", options.horizon);
  }
  BANDANA_RETURN_IF_ERROR(CheckBound("context_l2_max", options.context_l2_max));
  return CheckBound("reward_abs_max", options.reward_abs_max);
}

// L~^2, the squared norm of (x, r).
double SquaredNormMax(const JdpOptions& options) {
  return options.context_l2_max * options.context_l2_max +
         options.reward_abs_max * options.reward_abs_max;
}

// sqrt d + sqrt(2 ln(factor n / alpha)): what a chi variable of d degrees exceeds in a round with
// probability at most alpha / (factor n).
double ChiBound(const JdpOptions& options, double factor) {
  const double n = static_cast<double>(options.horizon);
  return std::sqrt(static_cast<double>(options.dimension)) +
         std::sqrt(2 * std::log(factor * n / options.alpha));
}

}  // namespace

int JdpLevels(std::uint64_t horizon) {
  BANDANA_CHECK(horizon >= 1);
  return 1 + std::bit_width(horizon - 1);
}

absl::StatusOr<JdpGaussian> DesignJdpGaussian(const JdpOptions& options) {
  BANDANA_RETURN_IF_ERROR(CheckOptions(options));
  const double m = JdpLevels(options.horizon);
  const double d = options.dimension, n = static_cast<double>(options.horizon);
  const double sigma = 4 * std::sqrt(m) * SquaredNormMax(options) *
                       std::log(4 / options.delta.value) / options.epsilon.value;
  const double upsilon =
      sigma * std::sqrt(2 * m) * (4 * std::sqrt(d) + 2 * std::log(2 * n / options.alpha));
  return JdpGaussian{
      .levels = JdpLevels(options.horizon),
      .sigma = sigma,
      .regularizer = {.shift = 2 * upsilon,
                      .rho_min = upsilon,
                      .rho_max = 3 * upsilon,
                      .gamma = sigma * std::sqrt(m / upsilon) * ChiBound(options, 2)}};
}

absl::StatusOr<JdpWishart> DesignJdpWishart(const JdpOptions& options, bool shifted) {
  BANDANA_RETURN_IF_ERROR(CheckOptions(options));
  const double m = JdpLevels(options.horizon);
  const double delta = options.delta.value, epsilon = options.epsilon.value;
  const double extra =
      std::ceil(224 * m * std::log(8 * m / delta) * std::log(2 / delta) / (epsilon * epsilon));
  if (!(extra <= 0x1p40)) {
    return InvalidArgument("epsilon must be large enough for at most 2^40 degrees of freedom, got ",
                           epsilon);
  }
  JdpWishart design{.levels = JdpLevels(options.horizon),
                    .degrees = static_cast<std::uint64_t>(options.dimension) + 1 +
                               static_cast<std::uint64_t>(std::max(extra, 1.0)),
                    .variance = SquaredNormMax(options)};
  // The singular values of an mk x d matrix of standard normals lie in a -+ b.
  const double a = std::sqrt(m * static_cast<double>(design.degrees));
  const double b = ChiBound(options, 8);
  const double low = a > b ? (a - b) * (a - b) : 0, high = (a + b) * (a + b);
  // H^-1/2 h is N(0, L~^2 I) given H; the shift c changes the norm by lambda / (lambda - c) at
  // most.
  const double c = shifted ? low - 4 * a * b : 0;
  const double stretch = c > 0 ? low / (low - c) : 1;
  if (!(low - c > 0)) {
    return InvalidArgument("epsilon must be smaller: the unshifted rho_min is not positive, got ",
                           epsilon);
  }
  const double v = design.variance;
  design.regularizer = {.shift = -c * v,
                        .rho_min = (low - c) * v,
                        .rho_max = (high - c) * v,
                        .gamma = std::sqrt(v * stretch) * ChiBound(options, 4)};
  return design;
}

double JdpBeta(const JdpWidth& width, const Regularizer& regularizer) {
  BANDANA_CHECK(regularizer.rho_min > 0);
  BANDANA_CHECK(width.alpha > 0 && width.alpha < 1);
  const double radicand = 2 * std::log(2 / width.alpha) + width.log_det -
                          width.dimension * std::log(regularizer.rho_min);
  return width.reward_stddev * std::sqrt(std::max(radicand, 0.0)) +
         width.theta_norm_max * std::sqrt(regularizer.rho_max) + regularizer.gamma;
}

}  // namespace bandana

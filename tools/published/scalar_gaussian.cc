#include "tools/published/scalar_gaussian.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/accounting/gaussian.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr int kSigmaBits = 25;  // half of what the sampler holds
constexpr std::int64_t kStepsMin = 8;
constexpr std::int64_t kStepsMax = std::int64_t{1} << 40;

}  // namespace

absl::StatusOr<ScalarGaussian> ScalarGaussian::Create(const Options& options) {
  const RewardRange& range = options.range;
  if (!std::isfinite(range.min) || !std::isfinite(range.max) || !(range.min < range.max) ||
      !std::isfinite(range.width())) {
    return InvalidArgument("range must be finite with min < max, got [", range.min, ", ", range.max,
                           "]");
  }
  BANDANA_ASSIGN_OR_RETURN(const Mu mu, CalibrateGaussian(options.epsilon, options.delta));
  const double wished = std::ldexp(mu.value, kSigmaBits);
  if (!(wished <= static_cast<double>(kStepsMax))) {
    return InvalidArgument("epsilon must be small enough for a grid, got ", options.epsilon.value);
  }
  const std::int64_t steps = std::max(kStepsMin, static_cast<std::int64_t>(wished));
  BANDANA_ASSIGN_OR_RETURN(
      GaussianMechanism mechanism,
      GaussianMechanism::Create({.epsilon = options.epsilon,
                                 .delta = options.delta,
                                 .size = 1,
                                 .sensitivity = {static_cast<double>(steps)}}));
  return ScalarGaussian(options, mechanism, steps);
}

ScalarGaussian::ScalarGaussian(const Options& options, GaussianMechanism mechanism,
                               std::int64_t steps)
    : options_(options), mechanism_(mechanism), steps_(steps) {}

// PROOF: scalar_loss begin
ClippedStatistics ScalarGaussian::Clip(const RawReward& value, double default_value) const {
  double v = value.value_.value_or(default_value);
  if (std::isnan(v)) v = default_value;
  const RewardRange& range = options_.range;
  const double sensitivity = static_cast<double>(steps_);
  const auto at = [&](std::int64_t step) {
    return ClippedStatistics({step}, sensitivity, sensitivity, 0);
  };
  // Written so that a NaN default fails the first test and maps to min.
  if (!(v > range.min)) return at(0);
  if (v >= range.max) return at(steps_);
  const auto step = static_cast<std::int64_t>(
      std::llround((v - range.min) / range.width() * static_cast<double>(steps_)));
  return at(std::clamp<std::int64_t>(step, 0, steps_));
}
// PROOF: scalar_loss end

double ScalarGaussian::Value(std::int64_t released) const {
  return options_.range.min +
         options_.range.width() * (static_cast<double>(released) / static_cast<double>(steps_));
}

double ScalarGaussian::Variance() const {
  const double step = options_.range.width() / static_cast<double>(steps_);
  return step * step * static_cast<double>(mechanism_.sigma_squared());
}

}  // namespace bandana

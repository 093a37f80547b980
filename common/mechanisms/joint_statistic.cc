#include "common/mechanisms/joint_statistic.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/mechanisms/integer_clip.h"

namespace bandana {
namespace {

// Scaled features and rewards are multiples of 2^-26: their products are exact doubles.
constexpr std::int64_t kInputUnits = std::int64_t{1} << 26;

absl::Status CheckBound(const char* name, double bound) {
  if (!(bound > 0 && bound <= kRewardAbsMax && bound >= 1 / kRewardAbsMax)) {
    return InvalidArgument(name, " must be in [1e-9, 1e9], got ", bound);
  }
  return absl::OkStatus();
}

}  // namespace

// PROOF: joint_gaussian begin
absl::StatusOr<JointStatistic> JointStatistic::Create(const Options& options) {
  if (options.dimension < 1 || options.dimension > kDimensionMax) {
    return InvalidArgument("dimension must be in [1, ", kDimensionMax, "], got ",
                           options.dimension);
  }
  BANDANA_RETURN_IF_ERROR(CheckBound("context_l2_max", options.context_l2_max));
  BANDANA_RETURN_IF_ERROR(CheckBound("reward_abs_max", options.reward_abs_max));
  if (options.grid_bits < kGridBitsMin || options.grid_bits > kGridBitsMax) {
    return InvalidArgument("grid_bits must be in [", kGridBitsMin, ", ", kGridBitsMax, "], got ",
                           options.grid_bits);
  }
  return JointStatistic(options);
}

JointStatistic::JointStatistic(const Options& options) : options_(options) {
  // 2.1213203435596428 > 1.5 sqrt(2) = 2.12132034355964257..; rounding toward zero moves each side
  // by less than one step per coordinate, the products with sqrt(2) by less than 2^-24 of a step.
  const double exact = options.dimension == 1 ? 2.0 : 2.1213203435596428;
  const double root = std::sqrt(static_cast<double>(size()));
  l2_sensitivity_ =
      (std::ldexp(exact, options.grid_bits) + 2 * root * (1 + 0x1p-24)) * (1 + 0x1p-48);
  l1_sensitivity_ = root * l2_sensitivity_ * (1 + 0x1p-48);
}

std::size_t JointStatistic::size() const {
  const auto d = static_cast<std::size_t>(options_.dimension);
  return d * (d + 1) / 2 + d;
}

ClippedStatistics JointStatistic::Clip(const RawInteraction& interaction) const {
  const auto d = static_cast<std::size_t>(options_.dimension);
  std::vector<std::int64_t> x(d, 0);
  if (interaction.features_.size() == d) {
    x = ClipL2(interaction.features_, options_.context_l2_max / kInputUnits, kInputUnits)
            .value_or(x);
  }
  const double reward = interaction.reward_.value_or(0) / options_.reward_abs_max;
  const auto r = static_cast<std::int64_t>(
      std::isnan(reward) ? 0 : std::clamp(reward, -1.0, 1.0) * kInputUnits);
  // To grid steps, toward zero.
  const double scale = std::ldexp(1.0, options_.grid_bits - 52);
  const auto grid = [scale](std::int64_t product, double weight) {
    return static_cast<std::int64_t>(static_cast<double>(product) * scale * weight);
  };
  std::vector<std::int64_t> phi;
  phi.reserve(size());
  for (std::size_t i = 0; i < d; ++i) {
    phi.push_back(grid(x[i] * x[i], 1));
    for (std::size_t j = i + 1; j < d; ++j) {
      phi.push_back(grid(x[i] * x[j], std::numbers::sqrt2));
    }
  }
  for (const std::int64_t feature : x) phi.push_back(grid(r * feature, 1));
  return ClippedStatistics(std::move(phi), l2_sensitivity_, l1_sensitivity_, -options_.grid_bits);
}
// PROOF: joint_gaussian end

JointEstimate JointStatistic::Unpack(std::span<const double> phi) const {
  BANDANA_CHECK(phi.size() == size());
  const auto d = static_cast<std::size_t>(options_.dimension);
  const double gram_unit = options_.context_l2_max * options_.context_l2_max;
  const double moment_unit = options_.context_l2_max * options_.reward_abs_max;
  JointEstimate estimate{std::vector<double>(d * (d + 1) / 2), std::vector<double>(d)};
  std::size_t next = 0;
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = i; j < d; ++j) {
      const double unit = i == j ? gram_unit : gram_unit / std::numbers::sqrt2;
      estimate.gram[j * (j + 1) / 2 + i] = phi[next++] * unit;
    }
  }
  for (double& entry : estimate.moment) entry = phi[next++] * moment_unit;
  return estimate;
}

}  // namespace bandana

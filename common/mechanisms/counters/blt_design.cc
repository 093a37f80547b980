#include "common/mechanisms/counters/blt_design.h"

#include <cmath>

#include "absl/strings/str_join.h"
#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr std::uint64_t kHorizonMax = std::uint64_t{1} << 30;
constexpr std::uint64_t kStepCapMax = std::uint64_t{1} << 40;
constexpr double kRhoMin = 1e-7;
constexpr double kRhoMax = 1e3;
constexpr int kNoiseBits = 26;  // sigma is near 2^26 grid steps
// Covers the rounding of a few hundred double operations on terms of one sign.
constexpr double kUp = 1 + 0x1p-40;

absl::Status CheckOptions(const BltOptions& options) {
  if (options.dimension < 1 || options.dimension > IncrementGrid::kDimensionMax) {
    return InvalidArgument("dimension must be in [1, ", IncrementGrid::kDimensionMax, "], got ",
                           options.dimension);
  }
  if (!(options.norm_bound >= 0x1p-500 && options.norm_bound <= 0x1p500)) {
    return InvalidArgument("norm_bound must be in [2^-500, 2^500], got ", options.norm_bound);
  }
  if (!(options.rho.value >= kRhoMin && options.rho.value <= kRhoMax)) {
    return InvalidArgument("rho must be in [1e-7, 1000], got ", options.rho.value);
  }
  if (options.horizon < 1 || options.horizon > kHorizonMax) {
    return InvalidArgument("horizon must be in [1, 2^30], got ", options.horizon);
  }
  if (options.step_cap < 1 || options.step_cap > kStepCapMax) {
    return InvalidArgument("step_cap must be in [1, 2^40], got ", options.step_cap);
  }
  return absl::OkStatus();
}

}  // namespace

// PROOF: counters begin
absl::StatusOr<BltDesign> BltDesign::Create(const BltOptions& options) {
  BANDANA_RETURN_IF_ERROR(CheckOptions(options));
  const BltTable& table = BltTableFor(options.horizon);
  const Blt blt = BltOf(table);
  const double column =
      kUp * std::sqrt(BltSquaredSensitivity(blt.decay, blt.weight, options.step_cap));
  double gain = 0;  // sum_i w_i / (1 - theta_i)
  for (std::size_t i = 0; i < blt.decay.size(); ++i) gain += blt.weight[i] / blt.decay[i];

  const double sigma = column * 2 * options.norm_bound / std::sqrt(2 * options.rho.value);
  IncrementGrid grid;
  grid.dimension = options.dimension;
  grid.exponent = std::ilogb(sigma) + 1 - kNoiseBits;
  grid.norm_bound = static_cast<std::int64_t>(std::ldexp(options.norm_bound, -grid.exponent));
  // sigma < 2^26 steps, S >= 1 and rho <= 1000 keep it below 2^31; rho >= 1e-7 above 2^11.
  BANDANA_CHECK(grid.norm_bound >= 1 && grid.norm_bound <= IncrementGrid::kNormBoundMax);
  // Every sum of the encoder stays below 2^126; see blt_encoder.cc.
  BANDANA_CHECK(gain < 0x1p15);

  const double rounding = (1 + std::ldexp(gain, -kBufferBits)) *
                          std::sqrt(static_cast<double>(options.step_cap)) *
                          std::sqrt(static_cast<double>(options.dimension));
  const double sensitivity = kUp * (column * 2 * static_cast<double>(grid.norm_bound) + rounding);
  const double sigma_squared = std::ceil(kUp * sensitivity * sensitivity / (2 * options.rho.value));
  if (!(sigma_squared <= static_cast<double>(DiscreteGaussian::kSigmaSquaredMax))) {
    return InvalidArgument("step_cap x dimension is too large for rho = ", options.rho.value,
                           ": rounding to the grid would dominate; lower step_cap");
  }
  BANDANA_ASSIGN_OR_RETURN(const DiscreteGaussian noise,
                           DiscreteGaussian::Create(static_cast<std::uint64_t>(sigma_squared)));
  const Rho cost = {kUp * sensitivity * sensitivity / (2 * sigma_squared)};
  return BltDesign(table, grid, options.step_cap, noise, cost);
}
// PROOF: counters end

BltDesign::BltDesign(const BltTable& table, IncrementGrid grid, std::uint64_t step_cap,
                     DiscreteGaussian noise, Rho cost)
    : table_(&table), grid_(grid), step_cap_(step_cap), noise_(noise), cost_(cost) {
  digest_ = Sha256Of(absl::StrCat("blt v1;q=", grid.dimension, ";exponent=", grid.exponent,
                                  ";bound=", grid.norm_bound, ";cap=", step_cap,
                                  ";sigma2=", noise.sigma_squared(), ";bits=", kBufferBits, ",",
                                  kBltConstantBits, ";decay=", absl::StrJoin(table.decay, ","),
                                  ";weight=", absl::StrJoin(table.weight, ",")));
}

double BltDesign::PredictedVariance(std::uint64_t t) const {
  BANDANA_CHECK(t >= 1 && t <= step_cap_);
  const double sigma_squared = static_cast<double>(noise_.sigma_squared());
  return std::ldexp(sigma_squared, 2 * grid_.exponent) * BltSquaredRow(BltOf(*table_), t);
}

}  // namespace bandana

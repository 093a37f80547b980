#include "common/random/discrete_gaussian.h"

#include <bit>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// A draw is kept with probability at least 0.5 (0.76 at best): 0.5^4096.
constexpr int kGaussianAttemptsMax = 4096;

}  // namespace

// PROOF: discrete_gaussian begin
DiscreteGaussian::DiscreteGaussian(std::uint64_t sigma_squared)
    : sigma_squared_(sigma_squared), log2_scale_(std::bit_width(sigma_squared) / 2) {}

absl::StatusOr<DiscreteGaussian> DiscreteGaussian::Create(std::uint64_t sigma_squared) {
  if (sigma_squared < 1 || sigma_squared > kSigmaSquaredMax) {
    return InvalidArgument("sigma_squared must be in [1, 2^53) grid steps squared, got ",
                           sigma_squared);
  }
  return DiscreteGaussian(sigma_squared);
}

ExactRatio DiscreteGaussian::Rejection(std::int64_t magnitude) const {
  BANDANA_CHECK(0 <= magnitude && magnitude >> log2_scale_ < 4096);
  // x = (magnitude 2^k - sigma^2)^2 / (sigma^2 2^(2k + 1)). The difference is below 2^12 4^k <=
  // 2^64, its square below 2^128, the denominator below 2^(53 + 53).
  const std::uint64_t scaled = static_cast<std::uint64_t>(magnitude) << log2_scale_;
  const std::uint64_t distance =
      scaled > sigma_squared_ ? scaled - sigma_squared_ : sigma_squared_ - scaled;
  return {.numerator = static_cast<unsigned __int128>(distance) * distance,
          .factor = sigma_squared_,
          .shift = 2 * log2_scale_ + 1};
}

absl::StatusOr<std::int64_t> DiscreteGaussian::Sample(BitSource& bits) const {
  const ExactScale scale{.numerator = std::uint64_t{1} << log2_scale_};
  for (int attempt = 0; attempt < kGaussianAttemptsMax; ++attempt) {
    BANDANA_ASSIGN_OR_RETURN(const std::int64_t y, DiscreteLaplace(scale, bits));
    BANDANA_ASSIGN_OR_RETURN(const bool keep, BernoulliExp(Rejection(y < 0 ? -y : y), bits));
    if (keep) return y;
  }
  return StuckEntropy();
}
// PROOF: discrete_gaussian end

}  // namespace bandana

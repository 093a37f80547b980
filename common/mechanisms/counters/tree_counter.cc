#include "common/mechanisms/counters/tree_counter.h"

#include <bit>
#include <cmath>
#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/mechanisms/counters/variance.h"

namespace bandana {
namespace {

constexpr std::uint64_t kHorizonMax = std::uint64_t{1} << 30;
constexpr int kNoiseBits = 26;       // sigma is near 2^26 grid steps
constexpr double kUp = 1 + 0x1p-40;  // covers the rounding of a few double operations

absl::Status CheckOptions(const TreeOptions& options) {
  if (options.dimension < 1 || options.dimension > IncrementGrid::kDimensionMax) {
    return InvalidArgument("dimension must be in [1, ", IncrementGrid::kDimensionMax, "], got ",
                           options.dimension);
  }
  if (!(options.norm_bound >= 0x1p-500 && options.norm_bound <= 0x1p500)) {
    return InvalidArgument("norm_bound must be in [2^-500, 2^500], got ", options.norm_bound);
  }
  if (!(options.rho.value >= 1e-7 && options.rho.value <= 1e3)) {
    return InvalidArgument("rho must be in [1e-7, 1000], got ", options.rho.value);
  }
  if (options.horizon < 1 || options.horizon > kHorizonMax) {
    return InvalidArgument("horizon must be in [1, 2^30], got ", options.horizon);
  }
  return absl::OkStatus();
}

}  // namespace

// PROOF: tree begin
absl::StatusOr<TreeDesign> TreeDesign::Create(const TreeOptions& options) {
  BANDANA_RETURN_IF_ERROR(CheckOptions(options));
  const int levels = std::bit_width(options.horizon);
  const double sigma =
      2 * options.norm_bound * std::sqrt(levels) / std::sqrt(2 * options.rho.value);
  IncrementGrid grid;
  grid.dimension = options.dimension;
  grid.exponent = std::ilogb(sigma) + 1 - kNoiseBits;
  grid.norm_bound = static_cast<std::int64_t>(std::ldexp(options.norm_bound, -grid.exponent));
  BANDANA_CHECK(grid.norm_bound >= 1 && grid.norm_bound <= IncrementGrid::kNormBoundMax);
  const double bound = static_cast<double>(grid.norm_bound);
  const double half_square = kUp * 2 * bound * bound * levels;  // Delta'^2 / 2
  const double sigma_squared = std::ceil(kUp * half_square / options.rho.value);
  BANDANA_ASSIGN_OR_RETURN(const DiscreteGaussian noise,
                           DiscreteGaussian::Create(static_cast<std::uint64_t>(sigma_squared)));
  return TreeDesign(grid, options.horizon, levels, noise, {kUp * half_square / sigma_squared});
}
// PROOF: tree end

TreeDesign::TreeDesign(IncrementGrid grid, std::uint64_t horizon, int levels,
                       DiscreteGaussian noise, Rho cost)
    : grid_(grid), horizon_(horizon), levels_(levels), noise_(noise), cost_(cost) {
  digest_ = Sha256Of(absl::StrCat("tree v1;q=", grid.dimension, ";exponent=", grid.exponent,
                                  ";bound=", grid.norm_bound, ";horizon=", horizon,
                                  ";sigma2=", noise.sigma_squared()));
}

TreeEncoder::TreeEncoder(const TreeDesign& design) : design_(design) {
  state_.sums.assign(design.levels() * design.grid().dimension, 0);
}

absl::StatusOr<TreeEncoder> TreeEncoder::Restore(const TreeDesign& design,
                                                 std::span<const std::byte> sealed) {
  TreeEncoder encoder(design);
  BANDANA_ASSIGN_OR_RETURN(EncoderState state,
                           OpenState(sealed, design.digest(), encoder.state_.sums.size()));
  if (state.step > design.horizon()) return DataLoss("counter state: step is past the horizon");
  for (std::size_t k = 0; k < state.sums.size(); ++k) {
    const int height = static_cast<int>(k / design.grid().dimension);
    const __int128 bound = static_cast<__int128>(design.grid().norm_bound) << height;
    if (state.sums[k] > bound || state.sums[k] < -bound) {
      return DataLoss("counter state: a sum is out of range");
    }
  }
  std::swap(encoder.state_.sums, state.sums);
  encoder.state_.step = state.step;
  return encoder;
}

// PROOF: tree begin
absl::StatusOr<CounterRelease> TreeEncoder::Step(const ClippedIncrement& increment,
                                                 BitSource& bits) {
  if (state_.step >= design_.horizon()) {
    return FailedPrecondition("counter: the cap of ", design_.horizon(), " steps is reached");
  }
  if (!(increment.grid() == design_.grid())) {
    return InvalidArgument("increment must be clipped on the counter's grid");
  }
  const std::size_t dimension = design_.grid().dimension;
  CounterRelease release;
  release.step = state_.step + 1;
  const std::size_t completed = std::countr_zero(release.step) + 1;  // heights 0, 1, ..
  // Noise first, into the release itself: on failure the state has not moved.
  release.values.resize(completed * dimension);
  for (std::int64_t& value : release.values) {
    BANDANA_ASSIGN_OR_RETURN(value, design_.noise().Sample(bits));
  }
  for (std::size_t k = 0; k < state_.sums.size(); ++k) {
    // At most norm_bound 2^30 <= 2^61 in magnitude.
    state_.sums[k] += increment.values_[k % dimension];
    if (k >= release.values.size()) continue;
    release.values[k] += static_cast<std::int64_t>(state_.sums[k]);
    state_.sums[k] = 0;
  }
  state_.step = release.step;
  return release;
}
// PROOF: tree end

TreeDecoder::TreeDecoder(const TreeDesign& design, Estimator estimator)
    : design_(design),
      estimator_(estimator),
      nodes_(design.levels() * design.grid().dimension, 0) {}

absl::Status TreeDecoder::Push(const CounterRelease& release) {
  if (release.step != step_ + 1 || release.step > design_.horizon()) {
    return FailedPrecondition("release must be of step ", step_ + 1, ", at most ",
                              design_.horizon(), ", got ", release.step);
  }
  const std::size_t dimension = design_.grid().dimension;
  const std::size_t completed = std::countr_zero(release.step) + 1;
  if (release.values.size() != completed * dimension) {
    return InvalidArgument("release must have ", completed * dimension, " values, got ",
                           release.values.size());
  }
  for (std::size_t c = 0; c < dimension; ++c) {
    double left = 0;      // the left child's estimate
    double right = 0;     // the right child's, completed by this step, too
    double variance = 0;  // of either
    for (std::size_t height = 0; height < completed; ++height) {
      double& node = nodes_[height * dimension + c];
      double estimate = static_cast<double>(release.values[height * dimension + c]);
      double own_variance = 1;
      if (estimator_ == Estimator::kHonaker && height > 0) {
        // Weights inverse to the variances 1 and 2 v.
        const double own = 2 * variance / (1 + 2 * variance);
        estimate = own * estimate + (1 - own) * (left + right);
        own_variance = own;
      }
      left = std::exchange(node, estimate);
      right = estimate;
      variance = own_variance;
    }
  }
  step_ = release.step;
  return absl::OkStatus();
}

std::vector<double> TreeDecoder::Estimate() const {
  const std::size_t dimension = design_.grid().dimension;
  std::vector<double> estimate(dimension, 0);
  for (int height = 0; height < design_.levels(); ++height) {
    if (((step_ >> height) & 1) == 0) continue;
    for (std::size_t c = 0; c < dimension; ++c) estimate[c] += nodes_[height * dimension + c];
  }
  for (double& e : estimate) e = std::ldexp(e, design_.grid().exponent);
  return estimate;
}

double TreeDecoder::PredictedVariance(std::uint64_t t) const {
  const absl::StatusOr<double> factor =
      VarianceFactor(estimator_ == Estimator::kHonaker ? CounterKind::kHonaker : CounterKind::kTree,
                     design_.horizon(), t);
  BANDANA_CHECK(factor.ok());
  const double node_variance =
      std::ldexp(static_cast<double>(design_.noise().sigma_squared()), 2 * design_.grid().exponent);
  return *factor / design_.levels() * node_variance;
}

}  // namespace bandana

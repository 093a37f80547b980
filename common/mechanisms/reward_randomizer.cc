#include "common/mechanisms/reward_randomizer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/mechanisms/canonical_text.h"
#include "common/mechanisms/likelihood_ratio.h"

namespace bandana {
namespace {

struct HybridDesign {
  std::uint32_t width = 1;  // w, cells of the window
  double window_share = 1;  // a, probability of the window mechanism; in (0, 1]
  double variance_max =
      0;  // worst case in units of s, of the law with real-valued masses and J -> infinity in s
};

// The width in [1, positions] and the share of the least worst-case variance, for likelihood ratio
// `ratio` > 1 and a window of `positions` positions. O(positions), only + - * / on doubles.
HybridDesign DesignHybrid(double ratio, std::uint32_t positions) {
  // One bit: E v^2 = c^2 at every s.
  const double c = (ratio + 1) / (ratio - 1);
  const double bit_moment = c * c;
  const double j = positions;
  HybridDesign best;
  best.variance_max = std::numeric_limits<double>::infinity();
  for (std::uint32_t width = 1; width <= positions; ++width) {
    // Window mechanism with cell spacing u: E v^2 = constant + slope s^2 at the knots, since a
    // window centred at z has sum of v^2 equal to w z^2 + u^2 w (w^2 - 1) / 12, and z = s / ((high
    // - low) w).
    const double w = width;
    const double cells = j + w;
    const double low = 1 / (w * ratio + j);
    const double gap = (ratio - 1) * low;  // high - low
    const double spacing = 2 / (j * w * gap);
    const double constant =
        spacing * spacing / 12 * (low * cells * (cells * cells - 1) + gap * w * (w * w - 1));
    const double slope = 1 / (gap * w);  // > 1
    // Var(s) = a (constant + slope s^2) + (1 - a) c^2 - s^2. Less a: grows at s = 0 while constant
    // < c^2; more a: grows at |s| = 1. Flat in s at a = 1 / slope.
    const double share = std::min(1.0, 1 / slope);
    const double variance = share * constant + (1 - share) * bit_moment;
    if (variance < best.variance_max) best = {width, share, variance};
  }
  return best;
}

// Positions of the hybrid's window. Rounding a position adds at most slope / 512^2 to the variance:
// below 1e-5 in units of s.
constexpr std::uint32_t kHybridPositions = 512;
// Probability units of one input step; the components share it out.
constexpr std::uint64_t kGrain = RewardRandomizer::kMassTotal / RewardRandomizer::kInputSteps;
// A bit with a smaller share would have too few units for its own likelihood ratio; the window then
// does without it.
constexpr std::uint64_t kBitGrainMin = std::uint64_t{1} << 12;

absl::Status CheckOptions(const RewardRandomizer::Options& options) {
  const double epsilon = options.epsilon.value;
  if (!(epsilon >= RewardRandomizer::kEpsilonMin && epsilon <= kEpsilonResearchMax)) {
    return InvalidArgument("epsilon must be in [", RewardRandomizer::kEpsilonMin, ", ",
                           kEpsilonResearchMax, "], got ", epsilon);
  }
  const RewardRange& range = options.range;
  if (!std::isfinite(range.min) || !std::isfinite(range.max) || !(range.min < range.max) ||
      !std::isfinite(range.width())) {
    return InvalidArgument("reward range must be finite with min < max, got [", range.min, ", ",
                           range.max, "]");
  }
  return absl::OkStatus();
}

absl::StatusOr<WindowMechanism> MakeBit(std::uint64_t grain, const LikelihoodRatio& ratio) {
  return WindowMechanism::Create({.steps = RewardRandomizer::kInputSteps, .grain = grain}, ratio);
}

absl::StatusOr<std::vector<WindowMechanism>> MakeHybrid(const LikelihoodRatio& ratio) {
  const HybridDesign design = DesignHybrid(ratio.Approximate(), kHybridPositions);
  auto bit_grain =
      static_cast<std::uint64_t>((1 - design.window_share) * static_cast<double>(kGrain));
  if (bit_grain < kBitGrainMin) bit_grain = 0;
  std::vector<WindowMechanism> components;
  if (bit_grain > 0) {
    BANDANA_ASSIGN_OR_RETURN(WindowMechanism bit, MakeBit(bit_grain, ratio));
    components.push_back(bit);
  }
  BANDANA_ASSIGN_OR_RETURN(WindowMechanism window,
                           WindowMechanism::Create({.steps = RewardRandomizer::kInputSteps,
                                                    .positions = kHybridPositions,
                                                    .width = design.width,
                                                    .grain = kGrain - bit_grain},
                                                   ratio));
  components.push_back(window);
  return components;
}

}  // namespace

absl::StatusOr<RewardRandomizer> RewardRandomizer::Create(const Options& options) {
  if (options.binary) return CreateKind(options, RandomizerKind::kRandomizedResponse);
  BANDANA_ASSIGN_OR_RETURN(RewardRandomizer bit,
                           CreateKind(options, RandomizerKind::kStochasticRounding));
  // Ten bits an output must pay for themselves; they do from about epsilon = 0.62.
  const double half_width = options.range.width() / 2;
  const HybridDesign design =
      DesignHybrid(LargestRatio(options.epsilon).Approximate(), kHybridPositions);
  if (design.variance_max * half_width * half_width >= 0.999 * bit.VarianceMax()) return bit;
  return CreateKind(options, RandomizerKind::kHybrid);
}

absl::StatusOr<RewardRandomizer> RewardRandomizer::CreateKind(const Options& options,
                                                              RandomizerKind kind) {
  BANDANA_RETURN_IF_ERROR(CheckOptions(options));
  if (kind == RandomizerKind::kRandomizedResponse && !options.binary) {
    return InvalidArgument("randomized response needs binary rewards");
  }
  const LikelihoodRatio ratio = LargestRatio(options.epsilon);
  std::vector<WindowMechanism> components;
  if (kind == RandomizerKind::kHybrid) {
    BANDANA_ASSIGN_OR_RETURN(components, MakeHybrid(ratio));
  } else {
    BANDANA_ASSIGN_OR_RETURN(WindowMechanism bit, MakeBit(kGrain, ratio));
    components.push_back(bit);
  }
  return RewardRandomizer(options, kind, std::move(components));
}

RewardRandomizer::RewardRandomizer(const Options& options, RandomizerKind kind,
                                   std::vector<WindowMechanism> components)
    : options_(options), kind_(kind), components_(std::move(components)) {
  std::uint64_t total = 0;
  for (const WindowMechanism& component : components_) {
    total += component.total();
    for (std::uint32_t cell = 0; cell < component.cells(); ++cell) {
      values_.push_back(component.Value(cell));
    }
  }
  BANDANA_CHECK(total == kMassTotal);
  variance_max_ = SVarianceMax();
}

// Var(s) = T(s) - s^2 with T linear between the knots of the finest component: concave there, so
// each segment's largest value is at T' / 2 or at an end.
double RewardRandomizer::SVarianceMax() const {
  const std::uint32_t knots = components_.back().shape().positions;
  std::vector<double> moments(knots + 1, 0.0);
  for (const WindowMechanism& component : components_) {
    const double share = static_cast<double>(component.total()) / static_cast<double>(kMassTotal);
    const std::vector<double> own = component.SecondMoments();
    // One bit has the same second moment at every step; any other component has all the knots.
    for (std::uint32_t j = 0; j <= knots; ++j) {
      moments[j] += share * own[own.size() == moments.size() ? j : 0];
    }
  }
  if (options_.binary) return std::max(moments.front(), moments.back()) - 1;
  double variance = 0;
  for (std::uint32_t j = 0; j < knots; ++j) {
    const double begin = 2.0 * j / knots - 1;
    const double end = 2.0 * (j + 1) / knots - 1;
    const double slope = (moments[j + 1] - moments[j]) / (end - begin);
    const double s = std::clamp(slope / 2, begin, end);
    variance = std::max(variance, moments[j] + slope * (s - begin) - s * s);
  }
  return variance;
}

double RewardRandomizer::ValueIn(const RewardRange& window, std::uint32_t output) const {
  BANDANA_CHECK(output < values_.size());
  return window.min / 2 + window.max / 2 + window.width() / 2 * values_[output];
}

double RewardRandomizer::VarianceMaxIn(const RewardRange& window) const {
  const double half_width = window.width() / 2;
  return half_width * half_width * variance_max_;
}

std::vector<std::uint64_t> RewardRandomizer::Masses(std::uint32_t step) const {
  std::vector<std::uint64_t> masses;
  masses.reserve(values_.size());
  for (const WindowMechanism& component : components_) {
    for (std::uint32_t cell = 0; cell < component.cells(); ++cell) {
      masses.push_back(component.Mass(step, cell));
    }
  }
  return masses;
}

Sha256Digest RewardRandomizer::TableDigest() const {
  CanonicalText text("bandana randomizer table 1");
  text.Add(std::uint64_t{components_.size()});
  for (const WindowMechanism& component : components_) {
    const WindowMechanism::Shape& shape = component.shape();
    text.Add(std::uint64_t{shape.steps})
        .Add(std::uint64_t{shape.positions})
        .Add(std::uint64_t{shape.width})
        .Add(shape.grain)
        .Add(component.high())
        .Add(component.low());
  }
  return text.Hash();
}

// PROOF: reward_randomizer begin
ClippedReward RewardRandomizer::ClipTo(const RewardRange& window, const RawReward& reward,
                                       double default_reward) const {
  if (!options_.binary) return RewardClip::ToGrid(window, reward, default_reward);
  double r = reward.value_.value_or(default_reward);
  if (std::isnan(r)) r = default_reward;
  // A NaN default fails the test and maps to min.
  return ClippedReward((r - window.min) / window.width() >= 0.5 ? kInputSteps : 0);
}

NoiseInput RewardRandomizer::InputOf(const ClippedReward& reward) const {
  return RewardClip::InputOf(reward);
}

std::uint32_t RewardRandomizer::OutputOf(std::uint32_t step, std::uint64_t draw) const {
  std::uint32_t first_output = 0;
  for (const WindowMechanism& component : components_) {
    if (draw < component.total()) return first_output + component.Cell(step, draw);
    draw -= component.total();
    first_output += component.cells();
  }
  BANDANA_CHECK(false);  // the totals sum to kMassTotal > draw
}

absl::StatusOr<PerturbedReward> RewardRandomizer::Randomize(const ClippedReward& reward,
                                                            BitSource& bits) const {
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t word, bits.NextWord());
  return PerturbedReward(OutputOf(reward.step_, word % kMassTotal));
}
// PROOF: reward_randomizer end

}  // namespace bandana

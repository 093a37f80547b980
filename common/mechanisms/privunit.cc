#include "common/mechanisms/privunit.h"

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/mechanisms/canonical_text.h"
#include "common/mechanisms/sphere_lift.h"
#include "common/random/keyed_stream.h"
#include "common/random/real_samplers.h"

namespace bandana {
namespace {

using Uint128 = unsigned __int128;

// e^-epsilon is accepted with an exponent in units of 2^-40.
constexpr int kExponentBits = 40;
// With Z >= 2^-12: (1 - Z)^kAttemptsMax < e^-256.
constexpr int kAttemptsMax = 1 << 20;

// PROOF: privunit begin
// The standard normals whose direction is u(seed).
absl::StatusOr<std::vector<double>> NormalsOf(const PublicSeed& seed, int n) {
  BANDANA_ASSIGN_OR_RETURN(KeyedStream stream, KeyedStream::FromPublicSeed(seed));
  std::vector<double> normals(static_cast<std::size_t>(n));
  BANDANA_RETURN_IF_ERROR(RealSampler(stream).FillNormal(normals));
  return normals;
}
// PROOF: privunit end

}  // namespace

// PROOF: privunit begin
absl::StatusOr<PrivUnit> PrivUnit::Create(const JointStatistic& statistic, Epsilon epsilon) {
  if (!(epsilon.value >= kEpsilonMin && epsilon.value <= kEpsilonResearchMax)) {
    return InvalidArgument("epsilon must be in [", kEpsilonMin, ", ", kEpsilonResearchMax,
                           "], got ", epsilon.value);
  }
  const int n = static_cast<int>(statistic.size()) + 1;
  BANDANA_ASSIGN_OR_RETURN(const CapDesign first, DesignCap(n, epsilon));
  // Twice the slack rounded up to a power of two, so that a last bit of libm changes no parameter.
  const double reserve = std::ldexp(1.0, std::ilogb(first.slack) + 2);
  const double units = std::floor(std::ldexp(epsilon.value - reserve, kExponentBits));
  if (!(units >= 1)) return Internal("the slack of rounding exceeds epsilon");
  const Epsilon left{std::ldexp(units, -kExponentBits)};
  BANDANA_ASSIGN_OR_RETURN(const CapDesign design, DesignCap(n, left));
  if (!(left.value + design.slack <= epsilon.value)) {
    return Internal("the slack of rounding does not fit into epsilon");
  }
  return PrivUnit(statistic, epsilon, design,
                  {.numerator = static_cast<Uint128>(units), .shift = kExponentBits});
}

PrivUnit::PrivUnit(const JointStatistic& statistic, Epsilon epsilon, const CapDesign& design,
                   const ExactRatio& exponent)
    : statistic_(statistic), design_(design), exponent_(exponent) {
  descriptor_ = {.name = "privunit",
                 .label = GuaranteeLabel::kProven,
                 .sensitivity = statistic.l2_sensitivity().value,
                 .cost = PrivacyCost::Pure(epsilon),
                 .parameters = CanonicalText("bandana privunit 1")
                                   .Add(std::uint64_t{statistic.size()})
                                   .Add(design.threshold)
                                   .Add(static_cast<std::uint64_t>(exponent.numerator))
                                   .Hash()};
}

absl::StatusOr<PerturbedDirection> PrivUnit::Randomize(const ClippedStatistics& statistics,
                                                       BitSource& bits) const {
  const int grid_bits = -statistics.log2_step_;
  if (statistics.grid_.size() != statistic_.size() || grid_bits != statistic_.grid_bits()) {
    return InvalidArgument("statistics must have ", statistic_.size(),
                           " coordinates on the grid 2^-", statistic_.grid_bits());
  }
  const std::vector<std::int64_t> v = LiftToSphere(statistics.grid_, grid_bits);
  PublicSeed seed;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    BANDANA_RETURN_IF_ERROR(bits.Fill(seed));
    BANDANA_ASSIGN_OR_RETURN(const bool anywhere, BernoulliExp(exponent_, bits));
    // In every attempt, whatever the coin says: the number of directions that were computed would
    // tell otherwise which accepted seeds lie in the cap for sure.
    BANDANA_ASSIGN_OR_RETURN(const std::vector<double> z, NormalsOf(seed, design_.n));
    const bool in_cap = InCap(z, v, design_.threshold);
    if (anywhere || in_cap) return PerturbedDirection(seed);
  }
  return StuckEntropy();
}
// PROOF: privunit end

absl::StatusOr<JointEstimate> PrivUnit::Decode(const PublicSeed& seed) const {
  BANDANA_ASSIGN_OR_RETURN(std::vector<double> u, NormalsOf(seed, design_.n));
  double squares = 0;
  for (const double value : u) squares += value * value;
  const double factor = std::numbers::sqrt2 / (design_.mean * std::sqrt(squares));
  u.pop_back();  // the lift's coordinate
  for (double& value : u) value *= factor;
  return statistic_.Unpack(u);
}

JointVariance PrivUnit::EntryVariance() const {
  const double variance = 2 * design_.Variance();
  const double gram = statistic_.context_l2_max() * statistic_.context_l2_max();
  const double moment = statistic_.context_l2_max() * statistic_.reward_abs_max();
  return {.gram_diagonal = variance * gram * gram,
          .gram_off_diagonal = variance * gram * gram / 2,
          .moment = variance * moment * moment};
}

}  // namespace bandana

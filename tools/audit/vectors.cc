#include "tools/audit/vectors.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/accounting/gaussian.h"
#include "common/base/status.h"
#include "common/mechanisms/gaussian_mechanism.h"
#include "common/mechanisms/joint_statistic.h"
#include "tools/audit/clipped_peer.h"
#include "tools/audit/linear_attack.h"
#include "tools/published/laplace_mechanism.h"

namespace bandana::audit {
namespace {

constexpr int kSigmaBits =
    25;  // sigma is near 2^25 grid steps: within the sampler, and fine enough

// A mechanism with Perturb, run on one of two statistics.
template <typename Mechanism>
Release ReleaseOf(const Mechanism& mechanism, ClippedStatistics p, ClippedStatistics q) {
  return [mechanism, p = std::move(p), q = std::move(q)](
             Neighbour neighbour, BitSource& bits) -> absl::StatusOr<std::vector<double>> {
    BANDANA_ASSIGN_OR_RETURN(const PerturbedStatistics released,
                             mechanism.Perturb(neighbour == Neighbour::kP ? p : q, bits));
    return std::vector<double>(released.grid().begin(), released.grid().end());
  };
}

// phi of a pair at |cos(x, x')| = 1/2, which attains 1.5 sqrt(2).
struct ClippedPair {
  ClippedStatistics p;
  ClippedStatistics q;
};
ClippedPair WorstPair(const JointStatistic& phi, int dimension) {
  std::vector<double> x(dimension, 0);
  std::vector<double> other(dimension, 0);
  x[0] = 1;
  other[0] = -0.5;
  other[1] = std::sqrt(0.75);
  return {phi.Clip(RawInteraction(x, 1)), phi.Clip(RawInteraction(other, 1))};
}

// phi(norm x, r) from phi(x, r), with the sensitivity that is declared for it.
ClippedStatistics Distort(const ClippedStatistics& statistics, int dimension, double norm,
                          L2Sensitivity declared) {
  std::vector<std::int64_t> grid = ClippedStatisticsPeer::Grid(statistics);
  const std::size_t gram = grid.size() - dimension;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const double value = static_cast<double>(grid[i]);
    grid[i] = std::llround(value * (i < gram ? norm * norm : norm));
  }
  return ClippedStatisticsPeer::Make(std::move(grid), declared, {declared.value});
}

}  // namespace

absl::StatusOr<Attack> AttackGaussian(const Claim& claim, double declared) {
  BANDANA_ASSIGN_OR_RETURN(const Mu mu, CalibrateGaussian(claim.epsilon, claim.delta));
  const auto distance = std::max<std::int64_t>(8, std::llround(std::ldexp(mu.value, kSigmaBits)));
  const L2Sensitivity sensitivity = {declared * static_cast<double>(distance)};
  BANDANA_ASSIGN_OR_RETURN(
      const GaussianMechanism mechanism,
      GaussianMechanism::Create(
          {.epsilon = claim.epsilon, .delta = claim.delta, .size = 1, .sensitivity = sensitivity}));
  const auto at = [&](std::int64_t value) {
    return ClippedStatisticsPeer::Make({value}, sensitivity, {sensitivity.value});
  };
  return MakeLinearAttack(ReleaseOf(mechanism, at(distance), at(0)), Threshold::kMidpoint);
}

absl::StatusOr<Attack> AttackJointGaussian(const Claim& claim, const JointPair& pair) {
  constexpr int kDimension = 4;
  BANDANA_ASSIGN_OR_RETURN(const Mu mu, CalibrateGaussian(claim.epsilon, claim.delta));
  const int grid_bits =
      std::clamp(kSigmaBits + std::ilogb(mu.value) - 1, 8, JointStatistic::kGridBitsMax);
  BANDANA_ASSIGN_OR_RETURN(
      const JointStatistic phi,
      JointStatistic::Create({.dimension = kDimension, .grid_bits = grid_bits}));
  const L2Sensitivity declared = {pair.declared * phi.l2_sensitivity().value};
  BANDANA_ASSIGN_OR_RETURN(const GaussianMechanism mechanism,
                           GaussianMechanism::Create({.epsilon = claim.epsilon,
                                                      .delta = claim.delta,
                                                      .size = phi.size(),
                                                      .sensitivity = declared}));
  ClippedPair worst = WorstPair(phi, kDimension);
  if (pair.declared != 1 || pair.features_norm != 1) {
    worst.p = Distort(worst.p, kDimension, pair.features_norm, declared);
    worst.q = Distort(worst.q, kDimension, pair.features_norm, declared);
  }
  return MakeLinearAttack(ReleaseOf(mechanism, std::move(worst.p), std::move(worst.q)),
                          Threshold::kMidpoint);
}

absl::StatusOr<Attack> AttackLaplace(const Claim& claim, std::size_t size, bool l2_instead_of_l1) {
  constexpr std::int64_t kDistance = 1 << 24;
  const double count = static_cast<double>(size);
  const double distance = static_cast<double>(kDistance);
  const L1Sensitivity sensitivity = {distance * (l2_instead_of_l1 ? std::sqrt(count) : count)};
  BANDANA_ASSIGN_OR_RETURN(
      const LaplaceMechanism mechanism,
      LaplaceMechanism::Create(
          {.epsilon = claim.epsilon, .size = size, .sensitivity = sensitivity}));
  const auto at = [&](std::int64_t value) {
    return ClippedStatisticsPeer::Make(std::vector<std::int64_t>(size, value), {sensitivity.value},
                                       sensitivity);
  };
  return MakeLinearAttack(ReleaseOf(mechanism, at(kDistance), at(0)),
                          size == 1 ? Threshold::kBeyondMean : Threshold::kTail);
}

absl::StatusOr<Attack> AttackJointLaplace(const Claim& claim, bool l2_instead_of_l1) {
  constexpr int kDimension = 2;
  BANDANA_ASSIGN_OR_RETURN(const JointStatistic phi,
                           JointStatistic::Create({.dimension = kDimension}));
  L1Sensitivity declared = phi.l1_sensitivity();
  ClippedPair worst = WorstPair(phi, kDimension);
  const std::vector<std::int64_t> p = ClippedStatisticsPeer::Grid(worst.p);
  const std::vector<std::int64_t> q = ClippedStatisticsPeer::Grid(worst.q);
  if (l2_instead_of_l1) {
    declared = {phi.l2_sensitivity().value};
    worst = {ClippedStatisticsPeer::Make(p, phi.l2_sensitivity(), declared),
             ClippedStatisticsPeer::Make(q, phi.l2_sensitivity(), declared)};
  }
  BANDANA_ASSIGN_OR_RETURN(
      const LaplaceMechanism mechanism,
      LaplaceMechanism::Create(
          {.epsilon = claim.epsilon, .size = phi.size(), .sensitivity = declared}));
  return Attack(
      [mechanism, worst, p, q](Neighbour neighbour, BitSource& bits) -> absl::StatusOr<bool> {
        BANDANA_ASSIGN_OR_RETURN(
            const PerturbedStatistics released,
            mechanism.Perturb(neighbour == Neighbour::kP ? worst.p : worst.q, bits));
        for (std::size_t i = 0; i < p.size(); ++i) {
          const std::int64_t beyond = released.grid()[i] - p[i];
          if (p[i] > q[i] ? beyond < 0 : beyond > 0) return false;
        }
        return true;
      });
}

}  // namespace bandana::audit

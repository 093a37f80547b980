#include "tools/audit/sparse.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/accounting/zcdp.h"
#include "common/base/status.h"
#include "common/mechanisms/sparse/exponential_selection.h"
#include "common/mechanisms/sparse/sparse_release.h"
#include "common/random/real_samplers.h"
#include "tools/audit/linear_attack.h"

namespace bandana::audit {

absl::StatusOr<Attack> AttackSparseRelease(const Claim& claim, double declared) {
  constexpr int kGiven = 3;
  BANDANA_ASSIGN_OR_RETURN(const Rho rho, CalibrateZcdp(claim.epsilon, claim.delta));
  BANDANA_ASSIGN_OR_RETURN(
      const SparseRelease mechanism,
      SparseRelease::Create({.given = kGiven, .rho = {rho.value / (declared * declared)}}));
  const auto row = [](double residual, double energy) {
    SparseSums sums(kGiven);
    sums.Add(std::vector<double>(kGiven, 1), residual, energy, {});
    return sums;
  };
  // At the clip, and beyond it on the other side: every sum moves by 2, count and energy by 1.
  return MakeLinearAttack(
      [mechanism, p = row(1, 1), q = row(-std::numeric_limits<double>::infinity(), 0)](
          Neighbour neighbour, BitSource& bits) -> absl::StatusOr<std::vector<double>> {
        BANDANA_ASSIGN_OR_RETURN(
            const ReleasedSums released,
            mechanism.Release(neighbour == Neighbour::kP ? p : q, std::vector<int>{0, 1, 2}, bits));
        std::vector<double> values = released.sums;
        values.push_back(2 * released.unclipped);  // noise as large as that of a sum
        values.push_back(2 * released.energy);
        return values;
      },
      Threshold::kMidpoint);
}

absl::StatusOr<Attack> AttackSelection(const Claim& claim, double declared) {
  constexpr int kCandidates = 20;
  constexpr std::int64_t kSensitivity = 1000;
  const double epsilon = claim.epsilon.value;
  BANDANA_ASSIGN_OR_RETURN(
      const ExponentialSelection selection,
      ExponentialSelection::Create({.picks = 1,
                                    .rho = {epsilon * epsilon / 8},
                                    .sensitivity = std::llround(declared * kSensitivity)}));
  std::vector<std::int64_t> p(kCandidates, 0);
  std::vector<std::int64_t> q(kCandidates, kSensitivity);
  p[0] = kSensitivity;
  q[0] = 0;
  return Attack([=](Neighbour neighbour, BitSource& bits) -> absl::StatusOr<bool> {
    BANDANA_ASSIGN_OR_RETURN(const std::vector<int> picked,
                             selection.Pick(neighbour == Neighbour::kP ? p : q, {}, bits));
    return picked.front() == 0;
  });
}

absl::StatusOr<Attack> AttackPublishedPeeling(const Claim& claim) {
  constexpr int kSparsity = 10;
  constexpr double kParameterL1 = 3.4362, kRows = 4096, kDelta = 0.01;
  const double x_max = std::sqrt(2 * std::log(400.0));
  const double reward_max = x_max * kParameterL1 + std::sqrt(2 * std::log1p(kRows));
  // In units of eta: 2 X'y moves by 2 x_max R twice.
  const double lambda = reward_max + x_max * kParameterL1;
  const double apart = 4 * x_max * reward_max;
  const double scale =
      lambda * 2 * std::sqrt(3 * kSparsity * std::log(1 / kDelta)) / claim.epsilon.value;
  return MakeLinearAttack(
      [=](Neighbour neighbour, BitSource& bits) -> absl::StatusOr<std::vector<double>> {
        RealSampler sampler(bits);
        std::vector<double> values(kSparsity, neighbour == Neighbour::kP ? apart : 0);
        for (double& value : values) {
          BANDANA_ASSIGN_OR_RETURN(const double laplace, sampler.Laplace());
          value += scale * laplace;
        }
        return values;
      },
      Threshold::kTail);
}

}  // namespace bandana::audit

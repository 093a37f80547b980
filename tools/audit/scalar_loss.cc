#include "tools/audit/scalar_loss.h"

#include <memory>
#include <utility>
#include <vector>

#include "common/bandits/bco/convex_policy.h"
#include "common/base/status.h"
#include "tools/audit/linear_attack.h"
#include "tools/published/loss_mechanism.h"

namespace bandana::audit {
namespace {

absl::StatusOr<Attack> AttackNumbers(const Claim& claim, RewardRange range, double p, double q,
                                     int releases) {
  BANDANA_ASSIGN_OR_RETURN(LossMechanism created,
                           LossMechanism::Create({.epsilon = claim.epsilon,
                                                  .delta = claim.delta,
                                                  .range = range,
                                                  .kind = LossMechanismKind::kGaussian}));
  const auto mechanism = std::make_shared<const LossMechanism>(std::move(created));
  return MakeLinearAttack(
      [mechanism, p, q, releases](Neighbour neighbour,
                                  BitSource& bits) -> absl::StatusOr<std::vector<double>> {
        const RawReward number(neighbour == Neighbour::kP ? p : q);
        std::vector<double> codes;
        for (int i = 0; i < releases; ++i) {
          BANDANA_ASSIGN_OR_RETURN(const PerturbedLoss released,
                                   mechanism->Release(number, 0, bits));
          codes.push_back(static_cast<double>(released.code()));
        }
        return codes;
      },
      Threshold::kMidpoint);
}

}  // namespace

absl::StatusOr<Attack> AttackScalarLoss(const Claim& claim, int releases) {
  return AttackNumbers(claim, {-3, 1}, 1e9, -1e9, releases);
}

absl::StatusOr<Attack> AttackScalarDifference(const Claim& claim) {
  constexpr double kLipschitz = 0.5;
  constexpr double kDistance = 1e-3;
  return AttackNumbers(claim, {-1, 1}, NormalizedDifference(7, -7, kLipschitz, kDistance),
                       NormalizedDifference(-7, 7, kLipschitz, kDistance), 1);
}

}  // namespace bandana::audit

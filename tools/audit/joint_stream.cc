#include "tools/audit/joint_stream.h"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/accounting/gaussian.h"
#include "common/base/status.h"
#include "common/mechanisms/counters/counter_encoder.h"
#include "common/mechanisms/joint/joint_counter.h"
#include "common/mechanisms/statistics_chain.h"
#include "tools/audit/linear_attack.h"

namespace bandana::audit {
namespace {

constexpr int kJointDimension = 3;

RawInteraction EventAt(std::uint64_t step, Neighbour neighbour) {
  if (step > 1) return RawInteraction({0, 0.6, 0.8}, 0.5);
  if (neighbour == Neighbour::kP) return RawInteraction({1, 0, 0}, 1);
  return RawInteraction({-0.5, std::sqrt(0.75), 0}, 1);
}

}  // namespace

absl::StatusOr<Attack> AttackJointCounter(const Claim& claim, CounterKind kind, double declared) {
  BANDANA_ASSIGN_OR_RETURN(const Mu mu, CalibrateGaussian(claim.epsilon, claim.delta));
  // Too small a sensitivity is as good as too large an epsilon.
  Epsilon epsilon = claim.epsilon;
  if (declared != 1) {
    BANDANA_ASSIGN_OR_RETURN(epsilon, GaussianEpsilon({mu.value / declared}, claim.delta));
  }
  const std::uint64_t steps = kind == CounterKind::kEpochs ? 128 : 16;
  BANDANA_ASSIGN_OR_RETURN(JointCounter counter, JointCounter::Create({.dimension = kJointDimension,
                                                                       .epsilon = epsilon,
                                                                       .delta = claim.delta,
                                                                       .kind = kind,
                                                                       .horizon = steps,
                                                                       .step_cap = steps}));
  return MakeLinearAttack(
      [counter = std::move(counter), steps](
          Neighbour neighbour, BitSource& bits) -> absl::StatusOr<std::vector<double>> {
        CounterEncoder encoder(counter.design());
        std::vector<double> seen;  // every node has the same noise: no whitening
        for (std::uint64_t t = 1; t <= steps; ++t) {
          BANDANA_ASSIGN_OR_RETURN(const CounterRelease release,
                                   encoder.Step(counter.Clip(EventAt(t, neighbour)), bits));
          seen.insert(seen.end(), release.values.begin(), release.values.end());
        }
        return seen;
      },
      Threshold::kMidpoint);
}

}  // namespace bandana::audit

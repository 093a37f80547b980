#include "tools/audit/straight.h"

#include <utility>
#include <vector>

#include "common/bandits/link.h"
#include "common/base/status.h"
#include "common/mechanisms/joint_statistic.h"
#include "common/mechanisms/privunit.h"

namespace bandana::audit {
namespace {

constexpr double kHalf = 0.5;  // rewards of 0 and 1 about their middle
constexpr double kEstimate = 3;

StraightEvent EventAt(double first, double second) {
  return Straighten(Link::kLogistic, {first, second}, 1, kEstimate * second);
}

// <estimate of phi, phi> for phi of the event in units of the bounds; times 1/2 and m it is <u, v>
// but for the lift's own coordinate.
double Overlap(const JointEstimate& estimate, const StraightEvent& event) {
  const double x = event.features[0];
  const double y = event.features[1];
  const double gram =
      estimate.gram[0] * x * x + 2 * estimate.gram[1] * x * y + estimate.gram[2] * y * y;
  const double moment = estimate.moment[0] * x + estimate.moment[1] * y;
  return gram + moment * event.reward / (kHalf * kHalf);
}

}  // namespace

absl::StatusOr<Attack> AttackStraightPrivUnit(const Claim& claim) {
  BANDANA_ASSIGN_OR_RETURN(const JointStatistic phi,
                           JointStatistic::Create({.dimension = 2, .reward_abs_max = kHalf}));
  BANDANA_ASSIGN_OR_RETURN(const PrivUnit mechanism, PrivUnit::Create(phi, claim.epsilon));
  const double cap = 2 * mechanism.design().threshold / mechanism.design().mean;
  const StraightEvent event_p = EventAt(1, 0);
  const StraightEvent event_q = EventAt(-0.5, 0.8660254037844386);
  ClippedStatistics p = phi.Clip(RawInteraction(event_p.features, event_p.reward));
  ClippedStatistics q = phi.Clip(RawInteraction(event_q.features, event_q.reward));
  return Attack([mechanism, cap, event_p, event_q, p = std::move(p), q = std::move(q)](
                    Neighbour neighbour, BitSource& bits) -> absl::StatusOr<bool> {
    BANDANA_ASSIGN_OR_RETURN(const PerturbedDirection report,
                             mechanism.Randomize(neighbour == Neighbour::kP ? p : q, bits));
    BANDANA_ASSIGN_OR_RETURN(const JointEstimate estimate, mechanism.Decode(report.seed()));
    return Overlap(estimate, event_p) >= cap && Overlap(estimate, event_q) < 0;
  });
}

}  // namespace bandana::audit

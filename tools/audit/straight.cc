#include "tools/audit/straight.h"

#include <utility>

#include "common/base/status.h"

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

absl::StatusOr<StraightPair> StraightPair::Create(const Claim& claim) {
  BANDANA_ASSIGN_OR_RETURN(const JointStatistic phi,
                           JointStatistic::Create({.dimension = 2, .reward_abs_max = kHalf}));
  BANDANA_ASSIGN_OR_RETURN(const PrivUnit mechanism, PrivUnit::Create(phi, claim.epsilon));
  return StraightPair{phi, mechanism, EventAt(1, 0), EventAt(-0.5, 0.8660254037844386)};
}

bool StraightPair::InCapOf(const StraightEvent& event, const JointEstimate& estimate) const {
  return Overlap(estimate, event) >= 2 * mechanism.design().threshold / mechanism.design().mean;
}

bool StraightPair::Happened(const JointEstimate& estimate) const {
  return InCapOf(p, estimate) && Overlap(estimate, q) < 0;
}

absl::StatusOr<Attack> AttackStraightPrivUnit(const Claim& claim) {
  BANDANA_ASSIGN_OR_RETURN(const StraightPair pair, StraightPair::Create(claim));
  ClippedStatistics p = pair.phi.Clip(RawInteraction(pair.p.features, pair.p.reward));
  ClippedStatistics q = pair.phi.Clip(RawInteraction(pair.q.features, pair.q.reward));
  return Attack([pair, p = std::move(p), q = std::move(q)](
                    Neighbour neighbour, BitSource& bits) -> absl::StatusOr<bool> {
    BANDANA_ASSIGN_OR_RETURN(const PerturbedDirection report,
                             pair.mechanism.Randomize(neighbour == Neighbour::kP ? p : q, bits));
    BANDANA_ASSIGN_OR_RETURN(const JointEstimate estimate, pair.mechanism.Decode(report.seed()));
    return pair.Happened(estimate);
  });
}

}  // namespace bandana::audit

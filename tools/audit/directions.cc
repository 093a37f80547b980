#include "tools/audit/directions.h"

#include <utility>

#include "common/base/status.h"

namespace bandana::audit {
namespace {

// <estimate of phi, phi(x, 1)> = x^T S x + x^T b. As |phi|^2 = 2 and so the lift's own coordinate
// is 0, it is 2 <u, v> / m. The lifted vectors' cosine is -1/8.
double Overlap(const JointEstimate& estimate, const std::array<double, 2>& x) {
  return estimate.gram[0] * x[0] * x[0] + 2 * estimate.gram[1] * x[0] * x[1] +
         estimate.gram[2] * x[1] * x[1] + estimate.moment[0] * x[0] + estimate.moment[1] * x[1];
}

}  // namespace

bool InCapOfPAlone(const PrivUnit& mechanism, const JointEstimate& estimate) {
  const double cap = 2 * mechanism.design().threshold / mechanism.design().mean;
  return Overlap(estimate, kDirectionP) >= cap && Overlap(estimate, kDirectionQ) < cap;
}

absl::StatusOr<Attack> AttackPrivUnit(const Claim& claim) {
  BANDANA_ASSIGN_OR_RETURN(const JointStatistic phi, JointStatistic::Create({.dimension = 2}));
  BANDANA_ASSIGN_OR_RETURN(const PrivUnit mechanism, PrivUnit::Create(phi, claim.epsilon));
  ClippedStatistics p = phi.Clip(RawInteraction({kDirectionP.begin(), kDirectionP.end()}, 1));
  ClippedStatistics q = phi.Clip(RawInteraction({kDirectionQ.begin(), kDirectionQ.end()}, 1));
  return Attack([mechanism, p = std::move(p), q = std::move(q)](
                    Neighbour neighbour, BitSource& bits) -> absl::StatusOr<bool> {
    BANDANA_ASSIGN_OR_RETURN(const PerturbedDirection report,
                             mechanism.Randomize(neighbour == Neighbour::kP ? p : q, bits));
    BANDANA_ASSIGN_OR_RETURN(const JointEstimate estimate, mechanism.Decode(report.seed()));
    return InCapOfPAlone(mechanism, estimate);
  });
}

}  // namespace bandana::audit

#include "tools/audit/directions.h"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/mechanisms/joint_statistic.h"
#include "common/mechanisms/privunit.h"
#include "common/mechanisms/sphere_lift.h"
#include "common/random/keyed_stream.h"
#include "common/random/real_samplers.h"
#include "common/random/samplers.h"
#include "tools/audit/clipped_peer.h"
#include "tools/audit/straight.h"

namespace bandana::audit {
namespace {

// <estimate of phi, phi(x, 1)> = x^T S x + x^T b. As |phi|^2 = 2 and so the lift's own coordinate
// is 0, it is 2 <u, v> / m. The lifted vectors' cosine is -1/8.
double Overlap(const JointEstimate& estimate, const std::array<double, 2>& x) {
  return estimate.gram[0] * x[0] * x[0] + 2 * estimate.gram[1] * x[0] * x[1] +
         estimate.gram[2] * x[1] * x[1] + estimate.moment[0] * x[0] + estimate.moment[1] * x[1];
}

using Lifted = std::vector<std::int64_t>;

Lifted Lift(const JointStatistic& phi, const std::vector<double>& features, double reward) {
  return LiftToSphere(ClippedStatisticsPeer::Grid(phi.Clip(RawInteraction(features, reward))),
                      phi.grid_bits());
}

struct Seen {
  PublicSeed seed;
  int directions = 0;  // computed on the way
};

// privunit's loop with the coin first.
absl::StatusOr<Seen> Draw(const CapDesign& design, const Lifted& v, BitSource& bits) {
  constexpr int kExponentBits = 40;
  const ExactRatio exponent = {
      .numerator = static_cast<unsigned __int128>(std::ldexp(design.epsilon, kExponentBits)),
      .shift = kExponentBits};
  std::vector<double> z(static_cast<std::size_t>(design.n));
  for (Seen seen;;) {
    BANDANA_RETURN_IF_ERROR(bits.Fill(seen.seed));
    BANDANA_ASSIGN_OR_RETURN(const bool anywhere, BernoulliExp(exponent, bits));
    if (anywhere) return seen;
    ++seen.directions;
    BANDANA_ASSIGN_OR_RETURN(KeyedStream stream, KeyedStream::FromPublicSeed(seen.seed));
    BANDANA_RETURN_IF_ERROR(RealSampler(stream).FillNormal(z));
    if (InCap(z, v, design.threshold)) return seen;
  }
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

absl::StatusOr<Attack> AttackTimedDirection(const Claim& claim) {
  BANDANA_ASSIGN_OR_RETURN(const JointStatistic phi, JointStatistic::Create({.dimension = 2}));
  BANDANA_ASSIGN_OR_RETURN(const PrivUnit mechanism, PrivUnit::Create(phi, claim.epsilon));
  Lifted p = Lift(phi, {kDirectionP.begin(), kDirectionP.end()}, 1);
  Lifted q = Lift(phi, {kDirectionQ.begin(), kDirectionQ.end()}, 1);
  return Attack([mechanism, p = std::move(p), q = std::move(q)](
                    Neighbour neighbour, BitSource& bits) -> absl::StatusOr<bool> {
    BANDANA_ASSIGN_OR_RETURN(const Seen seen,
                             Draw(mechanism.design(), neighbour == Neighbour::kP ? p : q, bits));
    BANDANA_ASSIGN_OR_RETURN(const JointEstimate estimate, mechanism.Decode(seen.seed));
    return seen.directions > 0 && InCapOfPAlone(mechanism, estimate);
  });
}

absl::StatusOr<Attack> AttackUnlifted(const Claim& claim) {
  BANDANA_ASSIGN_OR_RETURN(const StraightPair pair, StraightPair::Create(claim));
  const auto unlifted = [&](const StraightEvent& event) {
    Lifted v = Lift(pair.phi, event.features, event.reward);
    v.back() = 0;
    return v;
  };
  return Attack([pair, p = unlifted(pair.p), q = unlifted(pair.q)](
                    Neighbour neighbour, BitSource& bits) -> absl::StatusOr<bool> {
    BANDANA_ASSIGN_OR_RETURN(
        const Seen seen, Draw(pair.mechanism.design(), neighbour == Neighbour::kP ? p : q, bits));
    BANDANA_ASSIGN_OR_RETURN(const JointEstimate estimate, pair.mechanism.Decode(seen.seed));
    return pair.InCapOf(pair.q, estimate) && !pair.InCapOf(pair.p, estimate);
  });
}

}  // namespace bandana::audit

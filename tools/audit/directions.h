// The attack on privunit.
#pragma once

#include <array>

#include "absl/status/statusor.h"
#include "common/mechanisms/joint_statistic.h"
#include "common/mechanisms/privunit.h"
#include "tools/audit/subject.h"

namespace bandana::audit {

// Features of the neighbours: d = 2, cos(x, x') = -1/2; both rewards are 1, features and rewards
// within 1.
inline constexpr std::array<double, 2> kDirectionP = {1, 0};
inline constexpr std::array<double, 2> kDirectionQ = {-0.5, 0.8660254037844386};

// The event: the reported direction lies in P's cap and outside Q's, where the likelihood ratio is
// largest everywhere.
bool InCapOfPAlone(const PrivUnit& mechanism, const JointEstimate& estimate);

absl::StatusOr<Attack> AttackPrivUnit(const Claim& claim);

// The loop that returns on the coin before it computes a direction, on the events of
// AttackPrivUnit, for who can time it: the seed and the number of directions are seen. The event:
// P's cap alone, and a direction was computed. Costs ln(1 + e^eps / (1 - q)).
absl::StatusOr<Attack> AttackTimedDirection(const Claim& claim);

// Statistics that are shorter than sqrt(2) are not lifted to the sphere, on the events of
// AttackStraightPrivUnit: Q's cap is smaller than P's, and Z depends on the event. The event: Q's
// cap alone.
absl::StatusOr<Attack> AttackUnlifted(const Claim& claim);

}  // namespace bandana::audit

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

}  // namespace bandana::audit

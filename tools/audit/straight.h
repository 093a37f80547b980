// The attack on reports of generalized linear models.
#pragma once

#include "absl/status/statusor.h"
#include "common/mechanisms/joint_statistic.h"
#include "common/mechanisms/privunit.h"
#include "common/ranking/link.h"
#include "tools/audit/subject.h"

namespace bandana::audit {

// Straightened logistic events, d = 2, rewards in [-1/2, 1/2], public estimate (0, 3):
// P = ((1, 0), 1) keeps its length, Q = ((-1/2, sqrt(3)/2), 1) is shortened.
struct StraightPair {
  static absl::StatusOr<StraightPair> Create(const Claim& claim);
  // The event: the direction lies in P's cap and far from Q, as far as the decoded part of it shows
  // Q's side.
  bool Happened(const JointEstimate& estimate) const;
  // As far as the decoded part of the direction shows it: all of it for an event of full length.
  bool InCapOf(const StraightEvent& event, const JointEstimate& estimate) const;

  JointStatistic phi;
  PrivUnit mechanism;
  StraightEvent p;
  StraightEvent q;
};

// privunit on that pair.
absl::StatusOr<Attack> AttackStraightPrivUnit(const Claim& claim);

}  // namespace bandana::audit

// A run of a collaborative model: users in turn, arms with features, one reward per decision.
#pragma once

#include "absl/status/statusor.h"
#include "research/lab/cells.h"

namespace bandana::lab {

// Settings: those of the environment, and `alpha_factor`, `prior_factor`, `clip_factor`, which
// scale the learner's tuning (LearnerOptions). A RunFunction.
absl::StatusOr<CellResult> RunCollaborative(const Cell& cell);

}  // namespace bandana::lab

// Which mechanism AUTO takes where rewards alone are private.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/design/model_spec.h"
#include "common/design/planner/planner.h"

namespace bandana {

// The planner's input: of a policy in force and the configuration that it came from, users taken as
// independent. Its delta is the one that the configuration allows, even where the mechanism in
// force uses none.
PlanRequest RewardPlanRequest(const PublicSpec& policy, const v1::ModelConfig& config);
// As above with the model's coupling.
PlanRequest RewardPlanRequest(const ModelSpec& spec);

// The mechanism of the least predicted error among those that a server runs. Without a delta it is
// a randomizer: only pure mechanisms are left. Errors: INVALID_ARGUMENT none can run.
absl::StatusOr<PlannedMechanism> ChooseForRewards(const ModelSpec& spec);

// The planner's prediction for each mechanism, several lines. Errors: INVALID_ARGUMENT.
absl::StatusOr<std::string> ExplainRewards(const PublicSpec& policy, const v1::ModelConfig& config);

// Names a counter, with what the configuration leaves open tuned to the events of one stream. Room
// for twice the planned events costs little: S^2 grows with the logarithm of the cap.
void NameCounter(MechanismId mechanism, CounterKind kind, std::uint64_t planned,
                 v1::Privacy& privacy);

}  // namespace bandana

// How AUTO chooses, and how the choice is explained: one row per mode and family.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/design/model_spec.h"

namespace bandana {

// Nothing where one mechanism is for the mode and the family. Errors: INVALID_ARGUMENT none can
// run. A MechanismPlanner.
absl::StatusOr<std::optional<PlannedMechanism>> ChooseMechanism(const ModelSpec& spec);

// A planner's view of the policy in force, several lines. `config`: as servers describe it, without
// graph and users. Errors: INVALID_ARGUMENT.
absl::StatusOr<std::string> ExplainChoice(const PublicSpec& policy, const v1::ModelConfig& config);

}  // namespace bandana

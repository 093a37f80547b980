// Which mechanism AUTO takes where contexts stay on the devices.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/design/model_spec.h"
#include "common/design/planner/context_plan.h"

namespace bandana {

// The planner's input for a model of mode LOCAL_CONTEXT. With a curved link it describes the
// straightened events. Its delta is the one that the configuration allows, even where the mechanism
// in force uses none.
ContextPlanRequest ContextRequestOf(const ModelSpec& spec);

// Errors: INVALID_ARGUMENT none can run.
absl::StatusOr<PlannedMechanism> ChooseForContexts(const ModelSpec& spec);
absl::StatusOr<std::string> ExplainContexts(const ModelSpec& spec);

}  // namespace bandana

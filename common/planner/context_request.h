// What the planner of private contexts is asked for.
#pragma once

#include "common/design/model_spec.h"
#include "common/planner/context_plan.h"

namespace bandana {

// The planner's request for a model of mode LOCAL_CONTEXT. With a curved link it describes the
// straightened events. Its delta is the one that the configuration allows, even where the mechanism
// in force uses none.
ContextPlanRequest ContextRequestOf(const ModelSpec& spec);

}  // namespace bandana

// What the planner of private contexts is asked for.
#pragma once

#include "common/planner/context_plan.h"
#include "common/wire/model_spec.h"

namespace bandana::server {

// The planner's request for a model of mode LOCAL_CONTEXT. With a curved link it describes the
// straightened events. Its delta is the one that the configuration allows, even where the mechanism
// in force uses none.
ContextPlanRequest ContextRequestOf(const ModelSpec& spec);

}  // namespace bandana::server

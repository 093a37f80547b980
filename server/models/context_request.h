// What the planner of private contexts is asked for.
#pragma once

#include "common/planner/context_plan.h"
#include "common/wire/model_spec.h"

namespace bandana::server {

// Of a model of mode LOCAL_CONTEXT: of what its reports say, with a curved link of the straightened
// events. The delta is the one that the configuration allows, also where the mechanism in force
// uses none.
ContextPlanRequest ContextRequestOf(const ModelSpec& spec);

}  // namespace bandana::server

// The share of exploration of arms with few events (docs/design/policies.md).
#pragma once

#include "bandana/v1/config.pb.h"
#include "common/design/model_spec.h"
#include "common/promise/field_checks.h"

namespace bandana {

// Fills `cold` of the effects and wraps the policy, and reports what cannot be. Requires mode,
// effects and policy.
void ParseColdArms(const v1::ModelConfig& config, ModelSpec& spec, const FieldChecks& checks);

}  // namespace bandana

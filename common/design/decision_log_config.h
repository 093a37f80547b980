// The decision log that a model's configuration asks for.
#pragma once

#include "common/design/model_spec.h"
#include "common/promise/field_checks.h"

namespace bandana {

// Fills `spec.decision_log`, and reports what is out of range. Requires the mode.
void ParseDecisionLog(const v1::ModelConfig& config, ModelSpec& spec, const FieldChecks& checks);
// Reports why such a model keeps none. Requires that its mechanism is made.
void CheckDecisionLog(const ModelSpec& spec, const FieldChecks& checks);

}  // namespace bandana

// Bounds of the arms that users were shown, as a configuration says (docs/design/rules.md).
#pragma once

#include "bandana/v1/effects.pb.h"
#include "common/design/model_spec.h"
#include "common/promise/field_checks.h"

namespace bandana {

// Fills `seen` of the effects, and reports what cannot be.
void ParseSeen(const v1::EffectsCoupling& given, EffectsSpec& out, const FieldChecks& checks);

}  // namespace bandana

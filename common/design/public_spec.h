// What a policy in force says of privacy, by its mode (ModeRow::check_policy).
#pragma once

#include "bandana/v1/recommender.pb.h"
#include "common/design/field_checks.h"
#include "common/design/model_spec.h"

namespace bandana {

// A mechanism with its parameters.
void CheckPrivate(const v1::GetModelResponse& response, PublicSpec& spec,
                  const FieldChecks& checks);
// Nothing. A mode that this version does not know is a mistake.
void CheckOpen(const v1::GetModelResponse& response, PublicSpec& spec, const FieldChecks& checks);

}  // namespace bandana

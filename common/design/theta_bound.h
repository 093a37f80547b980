// A rule of configurations whose contexts are noisy.
#pragma once

#include "common/design/model_spec.h"
#include "common/promise/field_checks.h"

namespace bandana {

// |theta| <= kScaleMax: noise in contexts is as large as theta in the residuals.
void CheckThetaBound(const ModelSpec& spec, const FieldChecks& checks);

}  // namespace bandana

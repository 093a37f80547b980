// A model's schema of named features, from its policy.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/features/schema.h"
#include "common/promise/field_checks.h"
#include "common/promise/model_message.h"
#include "common/promise/public_spec.h"

namespace bandana {

// nullptr where something is wrong, or where there is no legal bound to scale to.
std::shared_ptr<const FeatureSchema> MakeSchema(const wire::FeatureSchema& schema, double l2_max,
                                                int dimension_max, const FieldChecks& checks);

// A policy says both schema and dimension. Reads dimension and feature_l2_max of the spec, fills in
// the schema.
void CheckFeatures(const wire::Model& model, PublicSpec& spec, const FieldChecks& checks);

}  // namespace bandana

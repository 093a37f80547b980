// A model's schema of named features, from its policy.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bandana/v1/recommender.pb.h"
#include "common/features/schema.h"
#include "common/promise/field_checks.h"
#include "common/promise/public_spec.h"

namespace bandana {

// nullptr where something is wrong, or where there is no legal bound to scale to.
std::shared_ptr<const FeatureSchema> MakeSchema(const v1::FeatureSchema& schema, double l2_max,
                                                int dimension_max, const FieldChecks& checks);

// A policy says both schema and dimension. Reads dimension and feature_l2_max of the spec, fills in
// the schema.
void CheckFeatures(const v1::GetModelResponse& response, PublicSpec& spec,
                   const FieldChecks& checks);

// The schema's lines of the policy's canonical text; "" without one.
std::string FeaturesText(const PublicSpec& spec);

// For people: the scale, and what each field's entries are, a line each; none without a schema.
std::vector<std::string> FeatureLines(const PublicSpec& spec);

}  // namespace bandana

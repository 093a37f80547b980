// A model's schema of named features, from its configuration and from its policy.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bandana/v1/config.pb.h"
#include "bandana/v1/recommender.pb.h"
#include "common/design/field_checks.h"
#include "common/design/model_spec.h"
#include "common/features/schema.h"

namespace bandana {

// Where a configuration has a schema, `dimension` follows from it: it may be left out. Reads
// feature_l2_max and the family of the spec, fills in dimension and schema.
void ParseFeatures(const v1::ModelConfig& config, ModelSpec& spec, const FieldChecks& checks);
// The same from a policy, which says both.
void CheckFeatures(const v1::GetModelResponse& response, PublicSpec& spec,
                   const FieldChecks& checks);

// The schema's lines of the policy's canonical text; "" without one.
std::string FeaturesText(const PublicSpec& spec);

// For people: the scale, and what each field's entries are, a line each; none without a schema.
std::vector<std::string> FeatureLines(const PublicSpec& spec);

}  // namespace bandana

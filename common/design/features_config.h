// A model's schema of named features, from its configuration.
#pragma once

#include "bandana/v1/config.pb.h"
#include "common/design/model_spec.h"
#include "common/promise/field_checks.h"

namespace bandana {

// Where a configuration has a schema, `dimension` follows from it: it may be left out. Reads
// feature_l2_max and the family of the spec, fills in dimension and schema.
void ParseFeatures(const v1::ModelConfig& config, ModelSpec& spec, const FieldChecks& checks);

// For people: the scale, and what each field's entries are, a line each; none without a schema.
std::vector<std::string> FeatureLines(const PublicSpec& spec);

}  // namespace bandana

// The verbs of bandana-ctl about named features. They need no server.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/features/schema.h"

namespace bandana {

// Encodes an example by the schema, for people: each arm's entries that are not 0, with their
// names, and what was wrong with its values. `json`: an object with `context` and `arms`, a list of
// objects with `id` and `features`, as in SelectRequest. Errors: INVALID_ARGUMENT.
absl::StatusOr<std::string> ExplainFeatures(const FeatureSchema& schema, std::string_view json);

// Proposes a schema for public examples, as the text of ModelConfig.features with comments.
// `jsonl`: a line per example, an object with `context` and `arm`, both objects. Errors:
// INVALID_ARGUMENT with the line.
absl::StatusOr<std::string> FitFeatures(std::string_view jsonl);

}  // namespace bandana

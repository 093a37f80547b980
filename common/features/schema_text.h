// A schema as text: its lines of a policy (docs/formats.md#policy-hash). Servers write them;
// devices read them, and print no number.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/features/schema_message.h"

namespace bandana {

// A line per block, in the order of the vector: "context=hour cyclic 24". Requires a schema that
// FeatureSchema::message() has, with every default.
std::vector<std::string> SchemaLines(const wire::FeatureSchema& schema);

// Adds the block of such a line. Errors: INVALID_ARGUMENT it is none, or the bias or a field comes
// after what stands behind it in a vector; values are unchecked.
absl::Status AddSchemaLine(std::string_view line, wire::FeatureSchema& schema);

// A real number of the canonical text: 17 significant digits, which read back to the same double.
std::string ExactNumber(double value);

}  // namespace bandana

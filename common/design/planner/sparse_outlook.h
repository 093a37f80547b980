// The expected yield of a sparse model's episodes.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/design/model_spec.h"

namespace bandana {

// An episode's information about an entry, before anything is known. Requires a sparse model.
absl::StatusOr<std::string> ExplainSparse(const ModelSpec& spec);

}  // namespace bandana

// What a sparse model's episodes will say.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/design/model_spec.h"

namespace bandana {

// What an episode says about an entry, before anything is known. Requires a sparse model.
absl::StatusOr<std::string> ExplainSparse(const ModelSpec& spec);

}  // namespace bandana

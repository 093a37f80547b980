// The change that UpdateModel makes of a model's configuration.
#pragma once

#include "absl/status/statusor.h"
#include "bandana/v1/admin.pb.h"

namespace bandana::server {

// `current` with the fields of the request's mask as its config has them; without a mask, with the
// fields that its config has: singular messages field by field, lists and maps as wholes. Errors:
// INVALID_ARGUMENT a path of the mask that is no field of ModelConfig, or `name`.
absl::StatusOr<v1::ModelConfig> UpdatedConfig(const v1::ModelConfig& current,
                                              const v1::UpdateModelRequest& request);

}  // namespace bandana::server

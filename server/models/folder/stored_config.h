// The configuration of a model made at run time, beside its state.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "bandana/v1/config.pb.h"
#include "common/design/model_spec.h"

namespace bandana::server {

// Models of the configuration file have none.
bool HasStoredConfig(const std::string& folder);
// Writes durably. Errors: UNAVAILABLE I/O.
absl::Status WriteStoredConfig(const std::string& folder, const v1::ModelConfig& config);
// Errors: DATA_LOSS damaged; NOT_FOUND; UNAVAILABLE I/O.
absl::StatusOr<v1::ModelConfig> ReadStoredConfig(const std::string& folder);
// Errors: INVALID_ARGUMENT this server does not serve it.
absl::StatusOr<ModelSpec> ParseStoredConfig(const v1::ModelConfig& config);

}  // namespace bandana::server

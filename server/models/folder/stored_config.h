// The configuration of a model made at run time, beside its state.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "bandana/v1/config.pb.h"
#include "common/design/model_spec.h"
#include "server/log/state/state_store.h"

namespace bandana::server {

// Models of the configuration file have none. Errors: UNAVAILABLE I/O.
absl::StatusOr<bool> HasStoredConfig(const StateStore& state);
// Writes durably. Errors: as StateStore::Write.
absl::Status WriteStoredConfig(StateStore& state, const v1::ModelConfig& config);
// Errors: DATA_LOSS damaged; NOT_FOUND; UNAVAILABLE I/O.
absl::StatusOr<v1::ModelConfig> ReadStoredConfig(const StateStore& state);
// Errors: INVALID_ARGUMENT this server does not serve it.
absl::StatusOr<ModelSpec> ParseStoredConfig(const v1::ModelConfig& stored);

}  // namespace bandana::server

// The content of a data folder that a configuration must agree with, read and left as it is.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/design/model_spec.h"
#include "server/log/log_engine.h"

namespace bandana::server {

// Whether the key that the noise of central models comes from can be used; OK where there is none.
// Errors: those of OpenNoiseKey.
absl::Status CheckKeptNoiseKey(const std::string& data_dir);

// Whether a model of `spec` could go on from data_dir/models/NAME, as far as what cannot change
// tells; OK where there is no such model. A log that is elsewhere is not asked. Errors: those of
// ServedModel::CheckUpdate; ALREADY_EXISTS a model made at run time.
absl::Status CheckKeptModel(const std::string& data_dir, const ModelSpec& spec,
                            const LogEngine& log);

}  // namespace bandana::server

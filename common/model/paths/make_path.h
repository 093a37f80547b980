// The one place that knows which path a model has.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "common/design/instance_id.h"
#include "common/design/model_spec.h"
#include "common/model/state/event_path.h"
#include "common/model/state/noise_binding.h"
#include "common/random/keyed_stream.h"

namespace bandana {

// `key` is needed by central models alone. `binding`: null but in bandana-audit; must outlive the
// path. Errors: FAILED_PRECONDITION the key is missing.
absl::StatusOr<std::unique_ptr<const EventPath>> MakePath(const ModelSpec& model,
                                                          const InstanceId& instance,
                                                          std::shared_ptr<const NoiseKey> key,
                                                          const NoiseBinding* binding = nullptr);

}  // namespace bandana

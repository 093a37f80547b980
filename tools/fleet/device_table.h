// The devices that simulated users may have, by name.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tools/fleet/device.h"
#include "tools/fleet/runner.h"

namespace bandana {

// `name`: "cpp", the SDK, or "abi", the C interface. Errors: INVALID_ARGUMENT a name that is
// neither, or that this build lacks; the flag of a setting that the device does not take.
absl::Status CheckDevice(const std::string& name, const FleetDeviceOptions& options,
                         const RunOptions& run);

// Requires CheckDevice. Errors: those of the device.
absl::StatusOr<std::unique_ptr<FleetDevice>> ConnectDevice(const std::string& name,
                                                           const FleetDeviceOptions& options);

}  // namespace bandana

// The simulated users' device in C++: the SDK.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "tools/fleet/device.h"

namespace bandana {

// Errors: as DeviceStore::Open and Client::Connect.
absl::StatusOr<std::unique_ptr<FleetDevice>> ConnectSdkDevice(const FleetDeviceOptions& options);

}  // namespace bandana

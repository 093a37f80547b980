// The simulated users' device by the C interface, in the host that examples/c shows.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "tools/fleet/device.h"

namespace bandana {

// `options.target`: IPv4:PORT of the server's api_listen. `options.store`: a file of that host. A
// thread of its own runs the host, which makes one call at a time. Errors: as bandana_connect;
// UNAVAILABLE the host does not open (stderr says why). `options.security` must be empty.
absl::StatusOr<std::unique_ptr<FleetDevice>> ConnectAbiDevice(const FleetDeviceOptions& options);

}  // namespace bandana

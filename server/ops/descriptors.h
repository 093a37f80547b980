// File descriptors: how many this process may have, and how many connections fit.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/service/connections/connection_limits.h"

namespace bandana::server {

// Descriptors that are not for connections: so many per model (log, arms, checkpoints), and these.
inline constexpr int kDescriptorsReserved = 64;
inline constexpr int kDescriptorsPerModel = 8;

// Raises the soft limit (RLIMIT_NOFILE) to the hard one, as far as needed for `needed`; returns
// what it is then.
std::uint64_t RaiseDescriptorLimit(std::uint64_t needed);

// How many of `wanted` connections fit beside `models` models into `limit` descriptors: at most
// `wanted`. Errors: FAILED_PRECONDITION fewer than kConnectionsMaxMin.
absl::StatusOr<int> ConnectionsThatFit(int wanted, int models, std::uint64_t limit);

// Both, for so many listeners: lowers connections_max where not all fit, and says so in the log.
// Errors: as ConnectionsThatFit.
absl::Status FitIntoDescriptors(int listeners, int models, ConnectionLimits& limits);

}  // namespace bandana::server

// min_version of requests that read the posterior.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "server/models/aliases/resolved_name.h"

namespace bandana::server {

// Whether what is served is as new as the caller has seen. A version of another model, asked for
// under an alias, says nothing of this one. Errors: UNAVAILABLE naming both versions, as callers
// see them.
absl::Status CheckMinVersion(const ResolvedModel& to, std::uint64_t min_version);

}  // namespace bandana::server

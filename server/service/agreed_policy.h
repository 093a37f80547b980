// Whether a call is made under the policy that stands behind the name it asks for.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "server/models/aliases/resolved_name.h"

namespace bandana::server {

// The one rule for the `policy_hash` of every request that has one. It is asked before anything
// else of the request is read: a caller who agreed to another policy must not be served by this
// one, whatever it sends. Empty: the caller checks nothing. Errors: INVALID_ARGUMENT its length;
// FAILED_PRECONDITION it is another policy's.
absl::Status CheckPolicy(const ResolvedModel& to, std::string_view policy_hash);

// For requests that must name a policy. Errors: INVALID_ARGUMENT.
absl::Status RequirePolicy(std::string_view policy_hash);

}  // namespace bandana::server

// Standing between its message and its values.
#pragma once

#include "absl/status/statusor.h"
#include "bandana/internal/peer.pb.h"
#include "server/models/replicas/standing.h"

namespace bandana::server {

internal::StandResponse ToProto(const Standing& standing);
// Errors: INVALID_ARGUMENT a digest of another length, or another number of totals.
absl::StatusOr<Standing> ParseStanding(const internal::StandResponse& message);

}  // namespace bandana::server

// A log in PostgreSQL that another server owns.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "server/log/postgresql/pg_log.h"
#include "server/log/store_watch.h"

namespace bandana::server {

// Takes no lease and changes nothing. Errors: FAILED_PRECONDITION no key file for a log that must
// be sealed; those of the key file.
absl::StatusOr<std::unique_ptr<FollowedLog>> FollowPgLog(const PgLogOptions& options);

}  // namespace bandana::server

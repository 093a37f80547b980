// The tables of models' states in PostgreSQL. Described in docs/formats/log.md.
#pragma once

#include "absl/status/status.h"
#include "server/log/postgresql/pg_connection.h"

namespace bandana::server {

// Makes the tables of logs (EnsureTables) and those of states where there are none. Errors: as
// EnsureTables.
absl::Status EnsureStateTables(PgConnection& connection);

}  // namespace bandana::server

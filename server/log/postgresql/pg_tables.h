// The tables of logs in PostgreSQL, and the functions that change them. Described in
// docs/formats/log.md.
#pragma once

#include "absl/status/status.h"
#include "server/log/postgresql/pg_connection.h"

namespace bandana::server {

// Makes the schema `bandana` where there is none; several servers may come at the same time.
// Errors: FAILED_PRECONDITION a schema of another version, or no right to make one; those of
// PgConnection::Run.
absl::Status EnsureTables(PgConnection& connection);

}  // namespace bandana::server

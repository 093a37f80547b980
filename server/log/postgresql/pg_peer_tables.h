// The tables by which servers of one database know of one another.
#pragma once

#include "absl/status/status.h"
#include "server/log/postgresql/pg_connection.h"

namespace bandana::server {

// Makes them where they are missing, with the tables of logs and states. Errors: as EnsureTables.
absl::Status EnsurePeerTables(PgConnection& connection);

}  // namespace bandana::server

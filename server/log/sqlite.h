// How the server opens its SQLite files, and what it says of their failures.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/sqlite/sqlite.h"

namespace bandana::server {

// RESOURCE_EXHAUSTED for a full disk; DATA_LOSS for a damaged file, one that is no database, or one
// with other tables; UNAVAILABLE for all else. `connection` may be null.
absl::Status SqliteStatus(int code, sqlite3* connection, std::string_view what);

// A connection to `path`, which is made for its owner alone where it is not there. In WAL mode,
// every commit synced, what is deleted overwritten, checkpoints by the caller. Errors: as
// SqliteStatus.
absl::StatusOr<SqliteConnection> OpenSqlite(const std::string& path, const std::string& vfs);

}  // namespace bandana::server

// A log in one SQLite file. Tables: docs/formats/log.md.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/log/update_log.h"

namespace bandana::server {

struct SqliteLogOptions {
  std::string path;
  std::string vfs;  // SQLite VFS to go through, its default when empty; tests inject faults here
  // Pages in the write-ahead file that wake the checkpoint thread. More: longer recovery; fewer:
  // more writing.
  int wal_pages_max = 2000;
  // After a Trim the bytes of no dropped entry stand in any file. Costs a copy of what is left.
  bool erase_trimmed = false;
  // No checkpoint thread: an append copies the write-ahead file itself when it is full.
  bool stepped = false;
};

// Makes a new, empty log that continues `start` (position 0 for a new model). An older file at the
// path is removed. Errors: UNAVAILABLE I/O; RESOURCE_EXHAUSTED no space.
absl::Status CreateSqliteLog(const SqliteLogOptions& options, const LogPosition& start);

// Opens an existing log and starts its checkpoint thread, which copies the write-ahead file into
// the database so that no append has to. Errors: DATA_LOSS missing or damaged file; UNAVAILABLE
// I/O.
absl::StatusOr<std::unique_ptr<UpdateLog>> OpenSqliteLog(const SqliteLogOptions& options);

// Removes the file and those beside it; OK when there is none. Errors: UNAVAILABLE I/O.
absl::Status RemoveSqliteLog(const std::string& path);

}  // namespace bandana::server

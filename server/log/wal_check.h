// Damage in the middle of SQLite's write-ahead file, which SQLite itself takes for a torn tail and
// drops in silence.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace bandana::server {

// Scans the -wal file before SQLite opens the database. A crash can tear only the last transaction:
// the writer starts the next one when the sync of the one before has returned. So a frame with a
// wrong checksum that is followed by two or more commits of the same generation is damage. OK for a
// missing or empty file. Not found: damage inside the last transaction, which no reader can tell
// from a torn one. Errors: DATA_LOSS naming the frame; UNAVAILABLE I/O. Source: SQLite file format,
// section 4 "The Write-Ahead Log".
absl::Status CheckWal(const std::string& path);

}  // namespace bandana::server

// A table of rows in a SQLite file of its own, because no statistics depend on it and a large
// change must not hold up reports. Tables: docs/formats/model_folder.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/log/sqlite.h"
#include "server/log/state/row_table.h"

namespace bandana::server {

// The name of the file in a model's folder.
std::string_view SqliteTableFile(TableKind kind);

// Opens or makes the file. Errors: DATA_LOSS damaged; UNAVAILABLE I/O.
absl::StatusOr<std::unique_ptr<RowTable>> OpenSqliteTable(TableKind kind, const std::string& path);

// Keys that left, in the file of a table.

// In a transaction of the caller's. A file has no such table before its first key. Errors: as
// SqliteStatus.
absl::Status NoteKeys(SqliteConnection& connection, const KeyChange& change);
// Takes those off that left until then, in Unix nanoseconds. In a transaction of the caller's.
absl::Status RemoveLeftKeys(SqliteConnection& connection, std::span<const std::uint64_t> keys,
                            std::int64_t until);
// Those of the file that left until then, in Unix nanoseconds, in the order of their times. Errors:
// DATA_LOSS damaged; as SqliteStatus.
absl::StatusOr<std::vector<LeftKey>> ReadLeftKeys(SqliteConnection& connection,
                                                  std::int64_t until = INT64_MAX,
                                                  std::int64_t max = INT64_MAX);

}  // namespace bandana::server

// The device's tables in a database.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "client/core/tables.h"
#include "client/src/store/sqlite.h"
#include "client/src/store/sqlite_rows.h"
#include "client/src/store/store_key.h"

namespace bandana::device {

struct OpenedTables {
  std::unique_ptr<Tables> tables;
  SqliteRows* rows = nullptr;  // theirs
};

// A file of the former format is migrated: the ledger and the streams stay, decisions whose window
// is open are dropped. Errors: DATA_LOSS; FAILED_PRECONDITION the store has another key;
// UNAVAILABLE I/O.
absl::StatusOr<OpenedTables> OpenTables(std::unique_ptr<Database> database, const StoreKeys& keys);

}  // namespace bandana::device

// The device's durable rows: all that a host must keep, in SQLite, in IndexedDB or in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/core/callback.h"
#include "client/core/table_forms.h"

namespace bandana::device {

// An integer, a real or bytes, as the table's form says (table_forms.h).
using Cell = std::variant<std::int64_t, double, std::string>;
// The cells of a row in the order of its columns; those of its key come first.
using Record = std::vector<Cell>;

// Which rows a scan visits: those whose key begins with `prefix` and whose next cell, an integer,
// is above `after`.
struct ScanRange {
  Record prefix;
  std::optional<std::int64_t> after;
};

// One transaction is open at a time. It begins with the first call after a commit or a rollback,
// and its reads see its writes. Errors: UNAVAILABLE I/O, or an earlier failure after which the
// host no longer knows what it holds; DATA_LOSS rows that are no rows of the table.
// Threads: not thread-safe.
class Rows {
 public:
  using Visit = Callback<bool(Record&)>;  // false: no more rows
  using Committed = Callback<void(const absl::Status&)>;

  virtual ~Rows() = default;

  virtual absl::StatusOr<std::optional<Record>> Get(Table table, const Record& key) = 0;
  // Visits the rows in ascending order of their keys. `visit` changes no row of the table.
  virtual absl::Status Scan(Table table, const ScanRange& range, const Visit& visit) = 0;
  // Adds the row, or replaces the one of its key. The former row is overwritten in the store.
  virtual absl::Status Put(Table table, const Record& row) = 0;
  // Absent rows are no error.
  virtual absl::Status Erase(Table table, const Record& key) = 0;

  // Makes all that was written durable at once, or nothing. `committed` hears which, now or later.
  // After an error Rollback is called.
  virtual void Commit(Committed committed) = 0;
  // Drops what was written since the last commit.
  virtual void Rollback() = 0;
  // This transaction erased something private: older versions of it must not stay in the host's
  // journal for long.
  virtual void NoteErasure() {}
};

}  // namespace bandana::device

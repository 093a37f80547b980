// SQLite's C interface with owners and statuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace bandana::server {

// RESOURCE_EXHAUSTED for a full disk; DATA_LOSS for a damaged file, one that is no database, or one
// with other tables; UNAVAILABLE for all else.
absl::Status SqliteStatus(int code, sqlite3* connection, std::string_view what);

// A prepared statement. Bound bytes must stay alive until Step.
class SqliteStatement {
 public:
  SqliteStatement() = default;
  SqliteStatement& Bind(int index, std::int64_t value);
  SqliteStatement& Bind(int index, std::span<const std::byte> blob);
  SqliteStatement& Bind(int index, std::string_view blob);
  // True when a row is there.
  absl::StatusOr<bool> Step();
  // Step, Reset: for statements that answer no row.
  absl::Status Run();
  // Ends the execution: locks held by a read are released.
  void Reset();
  std::int64_t Int(int column) const;
  std::string_view Blob(int column) const;  // until the next Step or Reset

 private:
  friend class SqliteConnection;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// Not thread-safe. Statements must be gone before their connection.
class SqliteConnection {
 public:
  // Opens or makes the file (mode 0600 by the process's umask, set here) in WAL mode with
  // synchronous=FULL, secure_delete and no automatic checkpoint. `vfs`: SQLite's default when
  // empty.
  static absl::StatusOr<SqliteConnection> Open(const std::string& path, const std::string& vfs);

  absl::Status Exec(const char* sql);
  absl::StatusOr<SqliteStatement> Prepare(const char* sql);
  // Rows that the last statement changed.
  std::int64_t Changes() const;
  // Whether a transaction is open.
  bool InTransaction() const;
  sqlite3* get() const { return connection_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  std::unique_ptr<sqlite3, Close> connection_;
};

}  // namespace bandana::server

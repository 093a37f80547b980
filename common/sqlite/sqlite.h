// SQLite's C interface with owners and statuses: the device's store, the server's log and its arms.
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

namespace bandana {

// The status that the owner of a connection makes of a failure: its extended code, SQLite's words
// for it, and what was tried.
using SqliteFailure = absl::Status (*)(int code, std::string_view detail, std::string_view what);

// A prepared statement. Parameters are numbered from 1, columns from 0. A Bind that fails makes the
// next Step fail. Not thread-safe. Must not outlive its connection.
class SqliteStatement {
 public:
  SqliteStatement() = default;

  SqliteStatement& Bind(int index, std::int64_t value);
  SqliteStatement& Bind(int index, double value);
  // Bytes that stay alive until Step. Empty ones are not NULL.
  SqliteStatement& Bind(int index, std::span<const std::byte> blob);
  SqliteStatement& Bind(int index, std::string_view blob);
  // Bytes that are copied.
  SqliteStatement& BindCopy(int index, std::string_view blob);

  // True when a row is there. Errors: the owner's.
  absl::StatusOr<bool> Step();
  // Step, Reset: for statements that answer no row.
  absl::Status Run();
  // Ends the execution: locks held by a read are released.
  void Reset();

  bool IsNull(int column) const;
  std::int64_t Int(int column) const;
  double Real(int column) const;
  std::string_view Blob(int column) const;  // until the next Step or Reset

 private:
  friend class SqliteConnection;
  void Note(int code);
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  SqliteFailure failure_ = nullptr;
  int bind_code_ = 0;  // of the first Bind that failed since the last Step
};

// One connection. Not thread-safe. Must outlive its statements.
class SqliteConnection {
 public:
  SqliteConnection() = default;
  // Opens an existing file for reading and writing, or ":memory:". `vfs`: "" is the system's.
  // Errors: the owner's.
  static absl::StatusOr<SqliteConnection> Open(const std::string& path, const std::string& vfs,
                                               SqliteFailure failure);

  // One or several statements without parameters.
  absl::Status Exec(const char* sql);
  absl::StatusOr<SqliteStatement> Prepare(const char* sql);
  // Rows changed by the last statement.
  std::int64_t Changes() const;
  bool InTransaction() const;
  // False: statements are left. Without it the destructor closes, once they are gone.
  [[nodiscard]] bool Close();

  sqlite3* get() const { return connection_.get(); }

 private:
  struct Closer {
    void operator()(sqlite3* connection) const;
  };
  std::unique_ptr<sqlite3, Closer> connection_;
  SqliteFailure failure_ = nullptr;
};

}  // namespace bandana

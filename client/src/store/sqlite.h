// The device store's connection to SQLite: a transaction looks for a failure once, not at every
// statement.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "common/sqlite/sqlite.h"

namespace bandana::device {

class Database;

// A prepared statement. Bind all parameters, then Step or Run; both leave it ready for the next
// Bind. The first failure is kept by the Database (see Database::failure), so that a caller may
// look once per transaction instead of once per row. Not thread-safe. Must not outlive its
// Database.
class Statement {
 public:
  Statement() = default;
  // By Prepare.
  bool made() const { return database_ != nullptr; }

  // Parameters are numbered from 1. Texts and blobs are copied.
  Statement& Bind(int index, std::int64_t value);
  Statement& Bind(int index, double value);
  Statement& BindBlob(int index, std::string_view bytes);

  // True while there is a row; after false or a failure the statement is reset.
  bool Step();
  // Runs to the end and resets. Returns rows changed, 0 after a failure.
  int Run();
  void Reset() { statement_.Reset(); }

  // Columns of the current row, numbered from 0. A view lives until the next Step.
  bool IsNull(int column) const { return statement_.IsNull(column); }
  std::int64_t Int(int column) const { return statement_.Int(column); }
  double Real(int column) const { return statement_.Real(column); }
  std::string_view Blob(int column) const { return statement_.Blob(column); }

 private:
  friend class Database;
  Statement(Database* database, SqliteStatement statement)
      : database_(database), statement_(std::move(statement)) {}

  Database* database_ = nullptr;
  SqliteStatement statement_;
};

// One connection. Not thread-safe.
class Database {
 public:
  // Opens an existing file for reading and writing, or ":memory:". Closing leaves a write-ahead
  // log where it is until CheckpointOnClose is called: a file that turns out to be damaged is left
  // untouched. Errors: UNAVAILABLE.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // One or several statements without parameters. Errors: UNAVAILABLE (I/O, disk full, owned by
  // another process), DATA_LOSS (not a database, damaged).
  absl::Status Execute(const char* sql);
  absl::StatusOr<Statement> Prepare(const char* sql);
  void CheckpointOnClose();
  // Lets go of `owned` after the connection is closed.
  void Keep(std::shared_ptr<void> owned) { owned_ = std::move(owned); }
  // Moves the write-ahead log's pages into the file once it has `pages_min` of them.
  void CheckpointAfter(int pages_min);
  // Something private was erased: the log must not keep older versions of its page for long.
  void ScrubLog() { scrub_ = true; }
  bool scrub_wanted() const { return scrub_; }
  // Moves all pages into the file and cuts the log.
  void Scrub();

  // The first failure of any statement since ClearFailure, else OK.
  const absl::Status& failure() const { return failure_; }
  void ClearFailure() { failure_ = absl::OkStatus(); }
  // Notes a failure that is not SQLite's: the transaction will be rolled back.
  void Fail(const absl::Status& failure) {
    if (failure_.ok()) failure_ = failure;
  }
  // A read, write or sync failed: what the file holds is known again only after opening it anew.
  bool broken() const { return broken_; }
  void Break() { broken_ = true; }

 private:
  friend class Statement;
  explicit Database(SqliteConnection connection) : connection_(std::move(connection)) {}
  // Passes a failure of the connection's last call on, and sees whether it broke the store.
  absl::Status Noted(const absl::Status& status);

  std::shared_ptr<void> owned_;
  SqliteConnection connection_;
  int wal_pages_ = 0;
  bool broken_ = false;
  bool scrub_ = false;
  absl::Status failure_;
};

}  // namespace bandana::device

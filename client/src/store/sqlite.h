// A thin, owning face of SQLite: one connection, prepared statements, Status instead of codes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace bandana::device {

class Database;

// A prepared statement. Bind all parameters, then Step or Run; both leave it ready for the next
// Bind. The first failure is kept by the Database (see Database::failure), so that a caller may
// look once a transaction instead of once a row. Not thread-safe. Must not outlive its Database.
class Statement {
 public:
  Statement() = default;
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  // Parameters are numbered from 1. Texts and blobs are copied.
  Statement& Bind(int index, std::int64_t value);
  Statement& Bind(int index, double value);
  Statement& BindBlob(int index, std::string_view bytes);

  // True while there is a row; after false or a failure the statement is reset.
  bool Step();
  // Runs to the end and resets. Returns rows changed, 0 after a failure.
  int Run();
  void Reset();

  // Columns of the current row, numbered from 0. A view lives until the next Step.
  bool IsNull(int column) const;
  std::int64_t Int(int column) const;
  double Real(int column) const;
  std::string_view Blob(int column) const;

 private:
  friend class Database;
  Statement(Database* database, sqlite3_stmt* statement)
      : database_(database), statement_(statement) {}

  Database* database_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
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
  explicit Database(sqlite3* connection) : connection_(connection) {}
  absl::Status Error(int code);
  void Note(int code);

  std::shared_ptr<void> owned_;
  sqlite3* connection_;
  int wal_pages_ = 0;
  bool broken_ = false;
  bool scrub_ = false;
  absl::Status failure_;
};

}  // namespace bandana::device

// The device's rows in SQLite.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "client/core/rows.h"
#include "client/src/store/sqlite.h"

namespace bandana::device {

// Every column of a table's form is one of the database's. Threads: not thread-safe.
class SqliteRows final : public Rows {
 public:
  // Prepares the statements. Makes the table of kept answers where it is missing: files of this
  // format have it since it came. Errors: DATA_LOSS other tables.
  static absl::StatusOr<std::unique_ptr<SqliteRows>> Create(std::unique_ptr<Database> database);
  ~SqliteRows() override;

  // The next commit makes a file of the former format one of today's.
  void UpgradeWithNextCommit() { upgrade_ = true; }

  // The work of the next Commit, which may take long; Commit then answers at once.
  void CommitAhead() { ended_ = End(); }

  absl::StatusOr<std::optional<Record>> Get(Table table, const Record& key) override;
  absl::Status Scan(Table table, const ScanRange& range, const Visit& visit) override;
  absl::Status Put(Table table, const Record& row) override;
  absl::Status Erase(Table table, const Record& key) override;
  void Commit(Committed committed) override;
  void Rollback() override;
  void NoteErasure() override { database_->ScrubLog(); }

 private:
  struct Statements {
    Statement get, put, erase;
    std::map<std::pair<std::size_t, bool>, Statement> scans;  // by cells of the prefix, and `after`
  };

  explicit SqliteRows(std::unique_ptr<Database> database) : database_(std::move(database)) {}
  absl::Status Prepare(Table table);
  absl::StatusOr<Statement*> ScanStatement(Table table, const ScanRange& range);
  // Errors: the store is broken.
  absl::Status Usable() const;
  // Runs a statement that writes, in a transaction.
  absl::Status Write(Statement& statement, const Record& cells);
  // Begins a transaction unless one is open.
  absl::Status Begin();
  absl::Status End();
  // The outcome of the statements since the last call.
  absl::Status Outcome();
  Statements& Of(Table table) { return statements_[static_cast<std::size_t>(table)]; }

  const std::unique_ptr<Database> database_;
  std::array<Statements, kTables> statements_;
  std::optional<absl::Status> ended_;  // by CommitAhead
  bool begun_ = false;
  bool upgrade_ = false;
};

}  // namespace bandana::device

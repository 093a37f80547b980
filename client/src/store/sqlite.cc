#include "client/src/store/sqlite.h"

#include <sqlite3.h>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

// Without SQLite's own words, which may quote a row.
absl::Status FailureOf(int code, std::string_view, std::string_view) {
  const char* const text = sqlite3_errstr(code);
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return DataLoss("device store: ", text);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Unavailable("device store: owned by another process or another DeviceStore");
    default:
      return Unavailable("device store: ", text, " (", code, ")");
  }
}

}  // namespace

Statement& Statement::Bind(int index, std::int64_t value) {
  statement_.Bind(index, value);
  return *this;
}

Statement& Statement::Bind(int index, double value) {
  statement_.Bind(index, value);
  return *this;
}

Statement& Statement::BindBlob(int index, std::string_view bytes) {
  statement_.BindCopy(index, bytes);
  return *this;
}

bool Statement::Step() {
  const absl::StatusOr<bool> row = statement_.Step();
  if (row.ok() && *row) return true;
  database_->Fail(database_->Noted(row.status()));
  statement_.Reset();
  return false;
}

int Statement::Run() {
  while (Step()) {
  }
  return database_->failure().ok() ? static_cast<int>(database_->connection_.Changes()) : 0;
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path) {
  absl::StatusOr<SqliteConnection> opened = SqliteConnection::Open(path, "", FailureOf);
  if (!opened.ok()) return Unavailable("cannot open ", path, ": ", opened.status().message());
  std::unique_ptr<Database> database(new Database(*std::move(opened)));
  sqlite3* const connection = database->connection_.get();
  sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_wal_hook(
      connection,
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<Database*>(self)->wal_pages_ = pages;
        return SQLITE_OK;
      },
      database.get());
  return database;
}

Database::~Database() {
  // Every Statement is gone by now; a busy close would leak the file's lock.
  BANDANA_CHECK(connection_.Close());
}

absl::Status Database::Noted(const absl::Status& status) {
  if (status.ok()) return status;
  const int primary = sqlite3_errcode(connection_.get()) & 0xff;
  broken_ = broken_ || primary == SQLITE_IOERR || primary == SQLITE_CORRUPT;
  return status;
}

absl::Status Database::Execute(const char* sql) { return Noted(connection_.Exec(sql)); }

absl::StatusOr<Statement> Database::Prepare(const char* sql) {
  absl::StatusOr<SqliteStatement> made = connection_.Prepare(sql);
  if (!made.ok()) return Noted(made.status());
  return Statement(this, *std::move(made));
}

void Database::CheckpointOnClose() {
  sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
}

// A failure of these costs a larger log, nothing else: what was committed is in it.
void Database::CheckpointAfter(int pages_min) {
  if (wal_pages_ < pages_min) return;
  wal_pages_ = 0;
  sqlite3_wal_checkpoint_v2(connection_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr,
                            nullptr);
}

void Database::Scrub() {
  wal_pages_ = 0;
  scrub_ = false;
  sqlite3_wal_checkpoint_v2(connection_.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr,
                            nullptr);
}

}  // namespace bandana::device

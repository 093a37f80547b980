#include "client/src/store/sqlite.h"

#include <sqlite3.h>

#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana::device {

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_), statement_(std::exchange(other.statement_, nullptr)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(database_, other.database_);
  std::swap(statement_, other.statement_);
  return *this;
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::Bind(int index, std::int64_t value) {
  database_->Note(sqlite3_bind_int64(statement_, index, value));
  return *this;
}

Statement& Statement::Bind(int index, double value) {
  database_->Note(sqlite3_bind_double(statement_, index, value));
  return *this;
}

Statement& Statement::BindBlob(int index, std::string_view bytes) {
  // A null pointer would bind NULL; an empty blob is not NULL.
  const char* data = bytes.data() == nullptr ? "" : bytes.data();
  database_->Note(sqlite3_bind_blob64(statement_, index, data, bytes.size(), SQLITE_TRANSIENT));
  return *this;
}

bool Statement::Step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_->Note(code);
  sqlite3_reset(statement_);
  return false;
}

int Statement::Run() {
  while (Step()) {
  }
  return database_->failure().ok() ? sqlite3_changes(database_->connection_) : 0;
}

void Statement::Reset() { sqlite3_reset(statement_); }

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_, column); }

double Statement::Real(int column) const { return sqlite3_column_double(statement_, column); }

std::string_view Statement::Blob(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const int bytes = sqlite3_column_bytes(statement_, column);
  return data == nullptr ? std::string_view()
                         : std::string_view(static_cast<const char*>(data), bytes);
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path) {
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &connection,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<Database> database(new Database(connection));
  if (code != SQLITE_OK) return Unavailable("cannot open ", path, ": ", sqlite3_errstr(code));
  sqlite3_extended_result_codes(connection, 1);
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
  BANDANA_CHECK(sqlite3_close(connection_) == SQLITE_OK);
}

absl::Status Database::Error(int code) {
  const char* text = sqlite3_errstr(code);
  const int primary = code & 0xff;
  broken_ = broken_ || primary == SQLITE_IOERR || primary == SQLITE_CORRUPT;
  switch (primary) {
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

void Database::Note(int code) {
  if (code != SQLITE_OK && failure_.ok()) failure_ = Error(code);
}

absl::Status Database::Execute(const char* sql) {
  const int code = sqlite3_exec(connection_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code);
}

absl::StatusOr<Statement> Database::Prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(connection_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return Error(code);
  return Statement(this, statement);
}

void Database::CheckpointOnClose() {
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
}

// A failure of these costs a larger log, nothing else: what was committed is in it.
void Database::CheckpointAfter(int pages_min) {
  if (wal_pages_ < pages_min) return;
  wal_pages_ = 0;
  sqlite3_wal_checkpoint_v2(connection_, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

void Database::Scrub() {
  wal_pages_ = 0;
  scrub_ = false;
  sqlite3_wal_checkpoint_v2(connection_, nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
}

}  // namespace bandana::device

#include "common/sqlite/sqlite.h"

#include <sqlite3.h>

#include <utility>

#include "common/base/status.h"

namespace bandana {
namespace {

absl::Status FailureOf(SqliteFailure failure, int code, sqlite3* connection,
                       std::string_view what) {
  return failure(code, connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(code),
                 what);
}

// A null pointer would bind NULL instead of an empty blob.
const void* DataOf(const void* data) { return data == nullptr ? "" : data; }

}  // namespace

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void SqliteStatement::Note(int code) {
  if (bind_code_ == SQLITE_OK) bind_code_ = code;
}

SqliteStatement& SqliteStatement::Bind(int index, std::int64_t value) {
  Note(sqlite3_bind_int64(statement_.get(), index, value));
  return *this;
}

SqliteStatement& SqliteStatement::Bind(int index, double value) {
  Note(sqlite3_bind_double(statement_.get(), index, value));
  return *this;
}

SqliteStatement& SqliteStatement::Bind(int index, std::span<const std::byte> blob) {
  Note(sqlite3_bind_blob64(statement_.get(), index, DataOf(blob.data()), blob.size(),
                           SQLITE_STATIC));
  return *this;
}

SqliteStatement& SqliteStatement::Bind(int index, std::string_view blob) {
  return Bind(index, std::as_bytes(std::span<const char>(blob)));
}

SqliteStatement& SqliteStatement::BindCopy(int index, std::string_view blob) {
  Note(sqlite3_bind_blob64(statement_.get(), index, DataOf(blob.data()), blob.size(),
                           SQLITE_TRANSIENT));
  return *this;
}

absl::StatusOr<bool> SqliteStatement::Step() {
  sqlite3* const connection = sqlite3_db_handle(statement_.get());
  const char* const what = sqlite3_sql(statement_.get());
  if (bind_code_ != SQLITE_OK) {
    return FailureOf(failure_, std::exchange(bind_code_, SQLITE_OK), nullptr, what);
  }
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return FailureOf(failure_, sqlite3_extended_errcode(connection), connection, what);
}

absl::Status SqliteStatement::Run() {
  const absl::StatusOr<bool> row = Step();
  Reset();
  return row.status();
}

void SqliteStatement::Reset() { sqlite3_reset(statement_.get()); }

bool SqliteStatement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::int64_t SqliteStatement::Int(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double SqliteStatement::Real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string_view SqliteStatement::Blob(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return {static_cast<const char*>(data), data == nullptr ? 0 : static_cast<std::size_t>(size)};
}

void SqliteConnection::Closer::operator()(sqlite3* connection) const {
  sqlite3_close_v2(connection);
}

absl::StatusOr<SqliteConnection> SqliteConnection::Open(const std::string& path,
                                                        const std::string& vfs,
                                                        SqliteFailure failure) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(
      path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
      vfs.empty() ? nullptr : vfs.c_str());
  SqliteConnection connection;
  connection.connection_.reset(raw);
  connection.failure_ = failure;
  if (code != SQLITE_OK) {
    return FailureOf(failure, code, raw, absl::StrCat("cannot open ", path));
  }
  return connection;
}

absl::Status SqliteConnection::Exec(const char* sql) {
  const int code = sqlite3_exec(get(), sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : FailureOf(failure_, code, get(), sql);
}

absl::StatusOr<SqliteStatement> SqliteConnection::Prepare(const char* sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  SqliteStatement statement;
  statement.statement_.reset(raw);
  statement.failure_ = failure_;
  if (code != SQLITE_OK) return FailureOf(failure_, code, get(), sql);
  return statement;
}

std::int64_t SqliteConnection::Changes() const { return sqlite3_changes64(get()); }

bool SqliteConnection::InTransaction() const { return sqlite3_get_autocommit(get()) == 0; }

bool SqliteConnection::Close() {
  if (sqlite3_close(get()) != SQLITE_OK) return false;
  static_cast<void>(connection_.release());
  return true;
}

}  // namespace bandana

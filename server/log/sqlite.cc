#include "server/log/sqlite.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

// Long enough for another connection's checkpoint on a slow disk; reaching it means something
// hangs.
constexpr int kBusyTimeoutMs = 30'000;

// SQLite makes files by the umask; a model's state is for its owner only.
absl::Status MakePrivateFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return Unavailable("cannot open ", path, ": ", std::strerror(errno));
  ::close(fd);
  return absl::OkStatus();
}

}  // namespace

absl::Status SqliteStatus(int code, sqlite3* connection, std::string_view what) {
  const char* detail = connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
  const std::string message = absl::StrCat(ToAbsl(what), ": ", detail, " (SQLite code ", code, ")");
  switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
      return absl::OkStatus();
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(message);
    case SQLITE_ERROR:  // our statements are fixed: the tables are not the ones they were made for
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(message);
    default:
      return absl::UnavailableError(message);
  }
}

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

SqliteStatement& SqliteStatement::Bind(int index, std::int64_t value) {
  BANDANA_CHECK(sqlite3_bind_int64(statement_.get(), index, value) == SQLITE_OK);
  return *this;
}

SqliteStatement& SqliteStatement::Bind(int index, std::span<const std::byte> blob) {
  // A null pointer would bind NULL instead of an empty blob.
  const void* data = blob.empty() ? static_cast<const void*>("") : blob.data();
  BANDANA_CHECK(sqlite3_bind_blob64(statement_.get(), index, data, blob.size(), SQLITE_STATIC) ==
                SQLITE_OK);
  return *this;
}

SqliteStatement& SqliteStatement::Bind(int index, std::string_view blob) {
  return Bind(index, std::as_bytes(std::span<const char>(blob)));
}

absl::StatusOr<bool> SqliteStatement::Step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return SqliteStatus(sqlite3_extended_errcode(sqlite3_db_handle(statement_.get())),
                      sqlite3_db_handle(statement_.get()), sqlite3_sql(statement_.get()));
}

absl::Status SqliteStatement::Run() {
  const absl::StatusOr<bool> row = Step();
  Reset();
  return row.status();
}

void SqliteStatement::Reset() { sqlite3_reset(statement_.get()); }

std::int64_t SqliteStatement::Int(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view SqliteStatement::Blob(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return {static_cast<const char*>(data), data == nullptr ? 0 : static_cast<std::size_t>(size)};
}

void SqliteConnection::Close::operator()(sqlite3* connection) const {
  sqlite3_close_v2(connection);
}

absl::StatusOr<SqliteConnection> SqliteConnection::Open(const std::string& path,
                                                        const std::string& vfs) {
  BANDANA_RETURN_IF_ERROR(MakePrivateFile(path));
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(
      path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
      vfs.empty() ? nullptr : vfs.c_str());
  SqliteConnection connection;
  connection.connection_.reset(raw);
  if (code != SQLITE_OK) return SqliteStatus(code, raw, absl::StrCat("cannot open ", path));
  sqlite3_busy_timeout(raw, kBusyTimeoutMs);
  const absl::Status configured = connection.Exec(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;"
      "PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -4000; PRAGMA cell_size_check = ON;");
  if (!configured.ok()) return Annotate(configured, path);
  return connection;
}

absl::Status SqliteConnection::Exec(const char* sql) {
  const int code = sqlite3_exec(get(), sql, nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) return absl::OkStatus();
  return SqliteStatus(code, get(), sql);
}

absl::StatusOr<SqliteStatement> SqliteConnection::Prepare(const char* sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  SqliteStatement statement;
  statement.statement_.reset(raw);
  if (code != SQLITE_OK) return SqliteStatus(code, get(), sql);
  return statement;
}

std::int64_t SqliteConnection::Changes() const { return sqlite3_changes64(get()); }

bool SqliteConnection::InTransaction() const { return sqlite3_get_autocommit(get()) == 0; }

}  // namespace bandana::server

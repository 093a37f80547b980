#include "server/log/sqlite.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

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

absl::Status FailureOf(int code, std::string_view detail, std::string_view what) {
  const std::string message =
      absl::StrCat(ToAbsl(what), ": ", ToAbsl(detail), " (SQLite code ", code, ")");
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

}  // namespace

absl::Status SqliteStatus(int code, sqlite3* connection, std::string_view what) {
  return FailureOf(code, connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(code),
                   what);
}

absl::StatusOr<SqliteConnection> OpenSqlite(const std::string& path, const std::string& vfs) {
  BANDANA_RETURN_IF_ERROR(MakePrivateFile(path));
  BANDANA_ASSIGN_OR_RETURN(SqliteConnection connection,
                           SqliteConnection::Open(path, vfs, FailureOf));
  sqlite3_busy_timeout(connection.get(), kBusyTimeoutMs);
  const absl::Status configured = connection.Exec(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;"
      "PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -4000; PRAGMA cell_size_check = ON;");
  if (!configured.ok()) return Annotate(configured, path);
  return connection;
}

}  // namespace bandana::server

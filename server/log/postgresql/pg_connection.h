// A connection to PostgreSQL (libpq) that never waits longer than it was told.
#pragma once

#include <libpq-fe.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bandana::server {

struct PgValue {
  std::uint32_t type = 0;  // OID of the type
  std::string bytes;

  static PgValue Int(std::int64_t value);
  static PgValue Unsigned(std::uint64_t value) { return Int(static_cast<std::int64_t>(value)); }
  static PgValue Bytes(std::string_view value);
  static PgValue Text(std::string_view value);
  static PgValue Ints(std::span<const std::int64_t> values);
  static PgValue ManyBytes(std::span<const std::string> values);
};
using PgValues = std::vector<PgValue>;

// A column of type bigint. 0 for another length.
std::int64_t PgInt(std::string_view bytes);

// The result of a statement, in binary format.
class PgResult {
 public:
  explicit PgResult(PGresult* result) : result_(result) {}
  int rows() const { return PQntuples(result_.get()); }
  std::string_view Bytes(int row, int column) const {
    return {PQgetvalue(result_.get(), row, column),
            static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
  }
  std::int64_t Int(int row, int column) const { return PgInt(Bytes(row, column)); }
  bool IsNull(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }

 private:
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
};

struct PgOptions {
  std::string connection;                      // libpq's connection string or URI
  absl::Duration patience = absl::Seconds(5);  // with connecting, and with each statement
};

// Errors: INVALID_ARGUMENT, for a message that begins with what is wrong and shows nothing of it.
absl::Status CheckConnection(const std::string& connection);

// The SQLSTATE of an error of Run that the server reported: then nothing of the statement is done.
// Empty for others: what became of it is not known.
std::string SqlStateOf(const absl::Status& status);

// The server's process behind a connection.
struct PgBackend {
  std::int64_t pid = 0;
  std::int64_t started = 0;  // microseconds since 1970: a number of a process comes again
};

// Not thread-safe.
class PgConnection {
 public:
  // The session commits synchronously. Errors: UNAVAILABLE nobody answers, or refuses to;
  // FAILED_PRECONDITION wrong credentials, no such database, a standby that takes no changes, a
  // server that does not commit synchronously. The message never holds a password.
  static absl::StatusOr<std::unique_ptr<PgConnection>> Open(const PgOptions& options);
  ~PgConnection();
  PgConnection(const PgConnection&) = delete;
  PgConnection& operator=(const PgConnection&) = delete;

  const PgBackend& backend() const { return backend_; }
  // It is of no use any more.
  bool lost() const { return !lost_.ok(); }

  // One statement as a transaction of its own, prepared when it comes for the first time. `sql`
  // must be a constant of the program. Errors: what the server says, with SqlStateOf:
  // RESOURCE_EXHAUSTED a full disk; ABORTED the log is another owner's (SQLSTATE BD001);
  // FAILED_PRECONDITION no tables, no rights; UNAVAILABLE others. Without SqlStateOf:
  // UNKNOWN the connection was lost, the time is over, or the commit was not confirmed by the
  // standbys that the server waits for. The connection is of no use then.
  absl::StatusOr<PgResult> Run(const char* sql, const PgValues& values);
  // Statements without values or results. Errors: as Run.
  absl::Status Exec(const std::string& sql);

 private:
  PgConnection(PGconn* connection, absl::Duration patience)
      : connection_(connection), patience_(patience) {}
  absl::Status Prepare(const char* sql, const PgValues& values, std::string& name);
  // Sends what is queued and waits for the result, which is the only one.
  absl::StatusOr<PgResult> Await();
  absl::Status WaitFor(short events, absl::Time deadline);
  absl::Status Lost(std::string_view why);

  PGconn* const connection_;
  const absl::Duration patience_;
  PgBackend backend_;
  absl::flat_hash_map<const char*, std::string> prepared_;  // names
  std::string warning_;                                     // of the statement that runs
  absl::Status lost_;
};

}  // namespace bandana::server

#include "server/log/postgresql/pg_connection.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr char kSqlState[] = "bandana.postgresql/sqlstate";
// A commit that the synchronous standbys have not is none for us. The rest ends waits of the server
// for peers that are gone.
constexpr char kSession[] =
    "SET synchronous_commit = on; SET client_min_messages = warning; SET lock_timeout = 4000;"
    " SET idle_in_transaction_session_timeout = 30000; SET standard_conforming_strings = on";
constexpr char kLooks[] =
    "SELECT pg_is_in_recovery()::int::bigint, (current_setting('fsync') = 'on')::int::bigint,"
    " (current_setting('synchronous_commit') IN ('on', 'remote_apply'))::int::bigint,"
    " pg_backend_pid()::bigint, (SELECT (extract(epoch FROM backend_start) * 1000000)::bigint"
    " FROM pg_stat_activity WHERE pid = pg_backend_pid())";

std::string FirstLine(const char* text) {
  const std::string_view all = text == nullptr ? "" : text;
  return std::string(absl::StripAsciiWhitespace(ToAbsl(all.substr(0, all.find('\n')))));
}

absl::StatusCode CodeOf(std::string_view state) {
  if (state == "BD001") return absl::StatusCode::kAborted;
  if (state == "53100") return absl::StatusCode::kResourceExhausted;
  constexpr std::string_view kForGood[] = {"28000", "28P01", "3D000", "3F000",
                                           "42501", "42P01", "42883", "42703"};
  const bool for_good =
      std::find(std::begin(kForGood), std::end(kForGood), state) != std::end(kForGood);
  return for_good ? absl::StatusCode::kFailedPrecondition : absl::StatusCode::kUnavailable;
}

absl::Status ErrorOf(const PGresult* result) {
  const char* const field = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string state = field == nullptr ? "" : field;
  const char* const said = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  absl::Status status(CodeOf(state),
                      absl::StrCat("PostgreSQL: ", FirstLine(said), " (SQLSTATE ", state, ")"));
  if (!state.empty()) status.SetPayload(kSqlState, absl::Cord(state));
  return status;
}

// From the catalogue pg_type, whose numbers never change.
constexpr std::uint32_t kBytea = 17;
constexpr std::uint32_t kInt8 = 20;
constexpr std::uint32_t kText = 25;
constexpr std::uint32_t kByteaArray = 1001;
constexpr std::uint32_t kInt8Array = 1016;

template <typename Number>
void PutBigEndian(Number value, std::string& out) {
  for (int shift = 8 * static_cast<int>(sizeof value) - 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> shift));
  }
}

// One dimension, no nulls, elements from 1 on. An array without elements has no dimension.
std::string ArrayHead(std::uint32_t element, std::size_t count) {
  std::string out;
  PutBigEndian<std::uint32_t>(count > 0 ? 1 : 0, out);
  PutBigEndian<std::uint32_t>(0, out);
  PutBigEndian(element, out);
  if (count == 0) return out;
  PutBigEndian(static_cast<std::uint32_t>(count), out);
  PutBigEndian<std::uint32_t>(1, out);
  return out;
}

}  // namespace

PgValue PgValue::Int(std::int64_t value) {
  PgValue made{.type = kInt8};
  PutBigEndian(value, made.bytes);
  return made;
}

PgValue PgValue::Bytes(std::string_view value) {
  return {.type = kBytea, .bytes = std::string(value)};
}

PgValue PgValue::Text(std::string_view value) {
  return {.type = kText, .bytes = std::string(value)};
}

PgValue PgValue::Ints(std::span<const std::int64_t> values) {
  PgValue made{.type = kInt8Array, .bytes = ArrayHead(kInt8, values.size())};
  for (const std::int64_t value : values) {
    PutBigEndian<std::uint32_t>(sizeof value, made.bytes);
    PutBigEndian(value, made.bytes);
  }
  return made;
}

PgValue PgValue::ManyBytes(std::span<const std::string> values) {
  PgValue made{.type = kByteaArray, .bytes = ArrayHead(kBytea, values.size())};
  for (const std::string& value : values) {
    PutBigEndian(static_cast<std::uint32_t>(value.size()), made.bytes);
    made.bytes += value;
  }
  return made;
}

std::int64_t PgInt(std::string_view bytes) {
  if (bytes.size() != sizeof(std::int64_t)) return 0;
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return static_cast<std::int64_t>(value);
}

absl::Status CheckConnection(const std::string& connection) {
  // libpq's own words quote what it does not understand, which may be a password.
  char* error = nullptr;
  PQconninfoOption* const parsed = PQconninfoParse(connection.c_str(), &error);
  PQfreemem(error);
  if (parsed == nullptr) {
    return InvalidArgument("must be keywords and values, or a URI, as libpq takes them");
  }
  PQconninfoFree(parsed);
  return absl::OkStatus();
}

std::string SqlStateOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kSqlState);
  return payload ? std::string(*payload) : "";
}

absl::StatusOr<std::unique_ptr<PgConnection>> PgConnection::Open(const PgOptions& options) {
  BANDANA_RETURN_IF_ERROR(CheckConnection(options.connection));
  const std::string seconds =
      absl::StrCat(std::max<std::int64_t>(2, absl::ToInt64Seconds(options.patience)));
  // Settings of the configuration come later and win.
  const char* const keys[] = {
      "connect_timeout",  "tcp_user_timeout", "keepalives_idle", "keepalives_interval",
      "keepalives_count", "application_name", "dbname",          nullptr};
  const char* const values[] = {
      seconds.c_str(), "10000", "10", "5", "3", "bandana", options.connection.c_str(), nullptr};
  PGconn* const raw = PQconnectdbParams(keys, values, /*expand_dbname=*/1);
  std::unique_ptr<PgConnection> made(new PgConnection(raw, options.patience));
  if (PQstatus(raw) != CONNECTION_OK) {
    const std::string why = FirstLine(PQerrorMessage(raw));
    const std::string text = absl::StrCat("PostgreSQL does not let us in: ", why);
    // libpq tells no SQLSTATE of a connection that did not come about. Where credentials or a name
    // are wrong, trying again is of no use.
    constexpr std::string_view kForGood[] = {"authentication failed", "no password supplied",
                                             "no pg_hba.conf entry", "does not exist"};
    const bool refused = std::ranges::any_of(kForGood, [&](std::string_view text_of_one) {
      return why.find(text_of_one) != std::string::npos;
    });
    return refused ? absl::FailedPreconditionError(text) : absl::UnavailableError(text);
  }
  PQsetNoticeProcessor(
      raw,
      [](void* self, const char* message) {
        static_cast<PgConnection*>(self)->warning_ = FirstLine(message);
      },
      made.get());
  if (PQsetnonblocking(raw, 1) != 0) return Unavailable("PostgreSQL: ", PQerrorMessage(raw));
  BANDANA_RETURN_IF_ERROR(made->Exec(kSession));
  BANDANA_ASSIGN_OR_RETURN(const PgResult looks, made->Run(kLooks, {}));
  if (looks.Int(0, 0) != 0) {
    return FailedPrecondition(
        "PostgreSQL: this server is a standby and takes no changes; connect to the primary, or name"
        " all of them with target_session_attrs=read-write");
  }
  if (looks.Int(0, 1) == 0) {
    return FailedPrecondition("PostgreSQL: fsync is off: what it acknowledges may be lost");
  }
  if (looks.Int(0, 2) == 0) return FailedPrecondition("PostgreSQL: synchronous_commit is not on");
  made->backend_ = {.pid = looks.Int(0, 3), .started = looks.Int(0, 4)};
  return made;
}

PgConnection::~PgConnection() { PQfinish(connection_); }

absl::Status PgConnection::Lost(std::string_view why) {
  lost_ = absl::UnknownError(absl::StrCat("PostgreSQL: ", ToAbsl(why)));
  return lost_;
}

absl::Status PgConnection::WaitFor(short events, absl::Time deadline) {
  pollfd polled{.fd = PQsocket(connection_), .events = events, .revents = 0};
  for (;;) {
    const std::int64_t left = absl::ToInt64Milliseconds(deadline - SteadyNow());
    if (left <= 0) return Lost("no answer in time");
    const int ready = poll(&polled, 1, static_cast<int>(left) + 1);
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return Lost("poll failed");
  }
}

absl::StatusOr<PgResult> PgConnection::Await() {
  const absl::Time deadline = SteadyNow() + patience_;
  for (int unsent = PQflush(connection_); unsent != 0; unsent = PQflush(connection_)) {
    if (unsent < 0) return Lost(FirstLine(PQerrorMessage(connection_)));
    // The server may have to be read before it reads on.
    BANDANA_RETURN_IF_ERROR(WaitFor(POLLIN | POLLOUT, deadline));
    if (PQconsumeInput(connection_) == 0) return Lost(FirstLine(PQerrorMessage(connection_)));
  }
  PgResult last(nullptr);
  absl::Status error;
  for (;;) {
    while (PQisBusy(connection_) != 0) {
      BANDANA_RETURN_IF_ERROR(WaitFor(POLLIN, deadline));
      if (PQconsumeInput(connection_) == 0) return Lost(FirstLine(PQerrorMessage(connection_)));
    }
    PGresult* const result = PQgetResult(connection_);
    if (result == nullptr) break;
    const ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) error.Update(ErrorOf(result));
    last = PgResult(result);
  }
  if (PQstatus(connection_) != CONNECTION_OK) {
    // An error that came before the end says that nothing was done.
    if (!SqlStateOf(error).empty()) lost_ = error;
    return lost_.ok() ? Lost(FirstLine(PQerrorMessage(connection_))) : lost_;
  }
  if (!error.ok()) return error;
  // So ends the wait for a standby: committed here, perhaps nowhere else.
  if (!warning_.empty()) return Lost(warning_);
  return last;
}

absl::Status PgConnection::Exec(const std::string& sql) {
  BANDANA_RETURN_IF_ERROR(lost_);
  warning_.clear();
  if (PQsendQuery(connection_, sql.c_str()) == 0) {
    return Lost(FirstLine(PQerrorMessage(connection_)));
  }
  return Await().status();
}

absl::Status PgConnection::Prepare(const char* sql, const PgValues& values, std::string& name) {
  name = absl::StrCat("s", prepared_.size());
  std::vector<Oid> types;
  for (const PgValue& value : values) types.push_back(value.type);
  if (PQsendPrepare(connection_, name.c_str(), sql, static_cast<int>(types.size()), types.data()) ==
      0) {
    return Lost(FirstLine(PQerrorMessage(connection_)));
  }
  return Await().status();
}

absl::StatusOr<PgResult> PgConnection::Run(const char* sql, const PgValues& values) {
  BANDANA_RETURN_IF_ERROR(lost_);
  warning_.clear();
  auto known = prepared_.find(sql);
  if (known == prepared_.end()) {
    std::string name;
    BANDANA_RETURN_IF_ERROR(Prepare(sql, values, name));
    known = prepared_.emplace(sql, std::move(name)).first;
  }
  std::vector<const char*> bytes;
  std::vector<int> lengths;
  const std::vector<int> formats(values.size(), 1);
  for (const PgValue& value : values) {
    bytes.push_back(value.bytes.data());
    lengths.push_back(static_cast<int>(value.bytes.size()));
  }
  if (PQsendQueryPrepared(connection_, known->second.c_str(), static_cast<int>(values.size()),
                          bytes.data(), lengths.data(), formats.data(), /*resultFormat=*/1) == 0) {
    return Lost(FirstLine(PQerrorMessage(connection_)));
  }
  return Await();
}

}  // namespace bandana::server

#include "server/log/postgresql/pg_peer_tables.h"

#include "common/base/status.h"
#include "server/log/postgresql/pg_state_tables.h"

namespace bandana::server {
namespace {

constexpr std::int64_t kVersion = 1;

constexpr char kMake[] = R"sql(
BEGIN;
SELECT pg_advisory_xact_lock(7089075323386670177);  -- of whoever makes the schema
CREATE TABLE IF NOT EXISTS bandana.peer_version(
  one bool PRIMARY KEY DEFAULT true CHECK (one), version bigint NOT NULL);
-- A row per server that is there. It is rewritten some times a second.
CREATE TABLE IF NOT EXISTS bandana.servers(
  address text PRIMARY KEY, seen timestamptz NOT NULL) WITH (fillfactor = 20);
-- Where the owner of a log is reached, once it serves the model under its term.
CREATE TABLE IF NOT EXISTS bandana.served(
  log bytea PRIMARY KEY REFERENCES bandana.logs ON DELETE CASCADE, term bigint NOT NULL,
  address text NOT NULL);
INSERT INTO bandana.peer_version(version) VALUES (1) ON CONFLICT DO NOTHING;
COMMIT;
)sql";

constexpr char kFind[] = "SELECT to_regclass('bandana.peer_version') IS NOT NULL";
constexpr char kVersionOf[] = "SELECT version FROM bandana.peer_version";

}  // namespace

absl::Status EnsurePeerTables(PgConnection& connection) {
  BANDANA_RETURN_IF_ERROR(EnsureStateTables(connection));
  BANDANA_ASSIGN_OR_RETURN(const PgResult found, connection.Run(kFind, {}));
  if (found.Bytes(0, 0) != std::string_view("\1", 1)) {
    const absl::Status made = connection.Exec(kMake);
    // A transaction that failed must not stay open.
    if (!made.ok()) connection.Exec("ROLLBACK").IgnoreError();
    if (!made.ok()) return Annotate(made, "making the tables of servers");
  }
  BANDANA_ASSIGN_OR_RETURN(const PgResult row, connection.Run(kVersionOf, {}));
  const std::int64_t version = row.rows() == 1 ? row.Int(0, 0) : 0;
  if (version == kVersion) return absl::OkStatus();
  return FailedPrecondition("PostgreSQL: the tables of servers in schema bandana have version ",
                            version, ", this server needs ", kVersion);
}

}  // namespace bandana::server

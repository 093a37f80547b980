#include "server/log/postgresql/pg_peer_tables.h"

#include "common/base/status.h"
#include "server/log/postgresql/pg_schema.h"
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
  return EnsurePart(
      connection,
      {.what = "servers", .make = kMake, .find = kFind, .version = kVersionOf, .needed = kVersion});
}

}  // namespace bandana::server

#include "server/log/postgresql/pg_peer_tables.h"

#include "common/base/status.h"
#include "server/log/postgresql/pg_schema.h"
#include "server/log/postgresql/pg_state_tables.h"

namespace bandana::server {
namespace {

constexpr std::int64_t kVersion = 1;

constexpr char kMakePeerTables[] = R"sql(
BEGIN;
SELECT pg_advisory_xact_lock(7089075323386670177);  -- of whoever makes the schema
CREATE TABLE IF NOT EXISTS bandana.peer_version(
  one bool PRIMARY KEY DEFAULT true CHECK (one), version bigint NOT NULL);
-- A row per server that is there. It is rewritten some times a second.
CREATE TABLE IF NOT EXISTS bandana.servers(
  address text PRIMARY KEY, seen timestamptz NOT NULL) WITH (fillfactor = 20);
-- The greatest kind of log entry that it reads, and when it said so: where that is not when it was
-- seen, another version has the address now, one from before these columns.
SET LOCAL lock_timeout = '200ms';  -- servers that are there wait meanwhile
ALTER TABLE bandana.servers ADD COLUMN IF NOT EXISTS reads bigint,
  ADD COLUMN IF NOT EXISTS told timestamptz;
-- Its name, which stays where the address changes; and what only a server with the key could write
-- of the two (pg_address_proof.h).
ALTER TABLE bandana.servers ADD COLUMN IF NOT EXISTS name text,
  ADD COLUMN IF NOT EXISTS proof bytea;
-- Where the owner of a log is reached, once it serves the model under its term.
CREATE TABLE IF NOT EXISTS bandana.served(
  log bytea PRIMARY KEY REFERENCES bandana.logs ON DELETE CASCADE, term bigint NOT NULL,
  address text NOT NULL);
ALTER TABLE bandana.served ADD COLUMN IF NOT EXISTS proof bytea;
INSERT INTO bandana.peer_version(version) VALUES (1) ON CONFLICT DO NOTHING;
COMMIT;
)sql";

// The version stays 1: the version before can go on beside this one.
constexpr char kFindPeerTables[] =
    "SELECT (SELECT count(*) FROM pg_attribute WHERE attname = 'proof' AND attrelid IN"
    " (to_regclass('bandana.servers'), to_regclass('bandana.served'))) = 2"
    " AND to_regclass('bandana.peer_version') IS NOT NULL";
constexpr char kVersionOfPeerTables[] = "SELECT version FROM bandana.peer_version";

}  // namespace

absl::Status EnsurePeerTables(PgConnection& connection) {
  BANDANA_RETURN_IF_ERROR(EnsureStateTables(connection));
  return EnsurePart(connection, {.what = "servers",
                                 .make = kMakePeerTables,
                                 .find = kFindPeerTables,
                                 .version = kVersionOfPeerTables,
                                 .needed = kVersion});
}

}  // namespace bandana::server

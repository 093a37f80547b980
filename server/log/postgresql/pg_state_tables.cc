#include "server/log/postgresql/pg_state_tables.h"

#include "common/base/status.h"
#include "server/log/postgresql/pg_schema.h"
#include "server/log/postgresql/pg_tables.h"

namespace bandana::server {
namespace {

constexpr char kMakeStateTables[] = R"sql(
BEGIN;
SELECT pg_advisory_xact_lock(7089075323386670177);  -- of whoever makes the schema
CREATE TABLE IF NOT EXISTS bandana.state_version(
  one bool PRIMARY KEY DEFAULT true CHECK (one), version bigint NOT NULL);
-- One row per model. The name is null until the model is complete, and of one that was set aside.
CREATE TABLE IF NOT EXISTS bandana.states(
  log bytea PRIMARY KEY REFERENCES bandana.logs ON DELETE CASCADE, name text COLLATE "C" UNIQUE,
  term bigint NOT NULL, version bigint NOT NULL, files bigint NOT NULL);
CREATE TABLE IF NOT EXISTS bandana.state_files(
  log bytea REFERENCES bandana.states ON DELETE CASCADE, name text COLLATE "C",
  content bytea NOT NULL, bytes bigint NOT NULL, pages bigint NOT NULL, digest bytea NOT NULL,
  wrapped bytea NOT NULL, PRIMARY KEY (log, name));
CREATE TABLE IF NOT EXISTS bandana.state_pages(
  log bytea REFERENCES bandana.states ON DELETE CASCADE, content bytea, number bigint,
  page bytea NOT NULL, PRIMARY KEY (log, content, number));
ALTER TABLE bandana.state_pages ALTER COLUMN page SET STORAGE EXTERNAL;
CREATE TABLE IF NOT EXISTS bandana.state_tables(
  log bytea REFERENCES bandana.states ON DELETE CASCADE, kind bigint, version bigint NOT NULL,
  removed bigint NOT NULL, size bigint NOT NULL, file bytea NOT NULL, format bigint NOT NULL,
  PRIMARY KEY (log, kind));
-- A part for each kind: what one of them has lost is swept out without the other.
CREATE TABLE IF NOT EXISTS bandana.state_rows(
  log bytea REFERENCES bandana.states ON DELETE CASCADE, kind bigint, key bytea,
  version bigint NOT NULL, value bytea NOT NULL, PRIMARY KEY (log, kind, key))
  PARTITION BY LIST (kind);
CREATE TABLE IF NOT EXISTS bandana.arms PARTITION OF bandana.state_rows FOR VALUES IN (1);
CREATE TABLE IF NOT EXISTS bandana.users PARTITION OF bandana.state_rows FOR VALUES IN (2);
CREATE INDEX IF NOT EXISTS state_rows_version ON bandana.state_rows (log, kind, version);
CREATE TABLE IF NOT EXISTS bandana.left_keys(
  log bytea REFERENCES bandana.states ON DELETE CASCADE, kind bigint, key bigint,
  since bigint NOT NULL, PRIMARY KEY (log, kind, key));
CREATE TABLE IF NOT EXISTS bandana.shared_files(
  name text PRIMARY KEY, version bigint NOT NULL, sealed bigint NOT NULL, content bytea NOT NULL);

-- Every change of a state goes through here, first: it takes place only if nothing else did since,
-- and no other change takes place before it has ended.
CREATE OR REPLACE FUNCTION bandana.change_state(p_log bytea, p_term bigint, p_version bigint)
  RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  found_state bandana.states;
BEGIN
  UPDATE bandana.states SET version = p_version + 1
    WHERE log = p_log AND term = p_term AND version = p_version;
  IF FOUND THEN RETURN; END IF;
  SELECT * INTO found_state FROM bandana.states WHERE log = p_log;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'BD002', MESSAGE = 'the model is gone';
  END IF;
  IF found_state.term = p_term THEN
    RAISE EXCEPTION USING ERRCODE = 'BD002', MESSAGE = format(
      'the state has changed without its owner: version %s, expected %s', found_state.version,
      p_version);
  END IF;
  RAISE EXCEPTION USING ERRCODE = 'BD001', MESSAGE = format(
    'the model''s state belongs to term %s; this server has term %s', found_state.term, p_term);
END $$;

-- Gives the model of a log a name, which fails where another one has it.
CREATE OR REPLACE FUNCTION bandana.name_state(p_log bytea, p_name text, p_replace bigint)
  RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_replace <> 0 THEN
    UPDATE bandana.states SET name = NULL WHERE name = p_name AND log <> p_log;
  END IF;
  UPDATE bandana.states SET name = p_name WHERE log = p_log;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'BD002', MESSAGE = 'the model is gone';
  END IF;
END $$;

INSERT INTO bandana.state_version(version) VALUES (1) ON CONFLICT DO NOTHING;
COMMIT;
)sql";

constexpr PgSchemaPart kStateTables = {
    .what = "states",
    .make = kMakeStateTables,
    .find = "SELECT to_regclass('bandana.state_version') IS NOT NULL",
    .version = "SELECT version FROM bandana.state_version",
    .needed = 1};

}  // namespace

absl::Status EnsureStateTables(PgConnection& connection) {
  BANDANA_RETURN_IF_ERROR(EnsureTables(connection));
  return EnsurePart(connection, kStateTables);
}

}  // namespace bandana::server

#include "server/log/postgresql/pg_tables.h"

#include "server/log/postgresql/pg_schema.h"

namespace bandana::server {
namespace {

constexpr char kMakeLogTables[] = R"sql(
BEGIN;
SELECT pg_advisory_xact_lock(7089075323386670177);  -- of whoever makes the schema
CREATE SCHEMA IF NOT EXISTS bandana;
CREATE TABLE IF NOT EXISTS bandana.version(
  one bool PRIMARY KEY DEFAULT true CHECK (one), version bigint NOT NULL);
CREATE TABLE IF NOT EXISTS bandana.logs(
  id bytea PRIMARY KEY, term bigint NOT NULL, owner text NOT NULL,
  lease_until timestamptz NOT NULL, revision bigint NOT NULL,
  last_sequence bigint NOT NULL, last_hash bytea NOT NULL, trimmed bigint NOT NULL,
  forgotten_before bigint NOT NULL, ids bigint NOT NULL, cells bigint NOT NULL,
  chunks bigint NOT NULL, counters bytea NOT NULL);
CREATE TABLE IF NOT EXISTS bandana.batches(
  log bytea REFERENCES bandana.logs ON DELETE CASCADE, last_sequence bigint,
  first_sequence bigint NOT NULL, hash_before bytea NOT NULL, seal_key bigint NOT NULL,
  records bytea NOT NULL, PRIMARY KEY (log, last_sequence));
ALTER TABLE bandana.batches ALTER COLUMN records SET STORAGE EXTERNAL;
CREATE TABLE IF NOT EXISTS bandana.seal_keys(
  log bytea REFERENCES bandana.logs ON DELETE CASCADE, id bigint, wrapped bytea NOT NULL,
  PRIMARY KEY (log, id));
CREATE TABLE IF NOT EXISTS bandana.ids(
  log bytea REFERENCES bandana.logs ON DELETE CASCADE, bucket bigint, sequence bigint,
  kind bigint NOT NULL, id bytea, checksum bigint NOT NULL,
  PRIMARY KEY (log, bucket, sequence, id));
CREATE TABLE IF NOT EXISTS bandana.cells(
  log bytea REFERENCES bandana.logs ON DELETE CASCADE, slot bigint, value bytea NOT NULL,
  PRIMARY KEY (log, slot)) WITH (fillfactor = 60);
CREATE TABLE IF NOT EXISTS bandana.chunks(
  log bytea REFERENCES bandana.logs ON DELETE CASCADE, issuer bigint, kind bigint, number bigint,
  newest bigint NOT NULL, bits bytea NOT NULL, PRIMARY KEY (log, issuer, kind, number))
  WITH (fillfactor = 60);

-- Every change of a log goes through here: it takes place only if nothing else did since.
CREATE OR REPLACE FUNCTION bandana.advance(
    p_log bytea, p_term bigint, p_revision bigint, p_sequence bigint, p_hash bytea)
  RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  found_log bandana.logs;
BEGIN
  UPDATE bandana.logs SET revision = p_revision + 1
    WHERE id = p_log AND term = p_term AND revision = p_revision
      AND last_sequence = p_sequence AND last_hash = p_hash;
  IF FOUND THEN RETURN; END IF;
  SELECT * INTO found_log FROM bandana.logs WHERE id = p_log;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'BD002', MESSAGE = 'the log is gone';
  END IF;
  RAISE EXCEPTION USING ERRCODE = 'BD001', MESSAGE = format(
    'the log belongs to %s with term %s at entry %s; this server has term %s at entry %s',
    found_log.owner, found_log.term, found_log.last_sequence, p_term, p_sequence);
END $$;

CREATE OR REPLACE FUNCTION bandana.append(
    p_log bytea, p_term bigint, p_revision bigint, p_sequence bigint, p_hash bytea,
    p_last bigint, p_last_hash bytea, p_seal_key bigint, p_records bytea, p_counters bytea,
    p_forget_before bigint,
    p_id_buckets bigint[], p_id_sequences bigint[], p_id_kinds bigint[], p_ids bytea[],
    p_id_checks bigint[], p_slots bigint[], p_cells bytea[],
    p_issuers bigint[], p_kinds bigint[], p_numbers bigint[], p_newest bigint[], p_bits bytea[])
  RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  new_cells bigint := 0;
  new_chunks bigint := 0;
  gone_ids bigint := 0;
  gone_chunks bigint := 0;
BEGIN
  PERFORM bandana.advance(p_log, p_term, p_revision, p_sequence, p_hash);
  IF p_last > p_sequence THEN
    INSERT INTO bandana.batches
      VALUES (p_log, p_last, p_sequence + 1, p_hash, p_seal_key, p_records);
  END IF;
  INSERT INTO bandana.ids
    SELECT p_log, t.bucket, t.sequence, t.kind, t.id, t.checksum
      FROM unnest(p_id_buckets, p_id_sequences, p_id_kinds, p_ids, p_id_checks)
        AS t(bucket, sequence, kind, id, checksum);
  WITH put AS (
    INSERT INTO bandana.cells SELECT p_log, t.slot, t.value FROM unnest(p_slots, p_cells)
        AS t(slot, value)
      ON CONFLICT (log, slot) DO UPDATE SET value = excluded.value RETURNING xmax = 0 AS fresh)
    SELECT count(*) FILTER (WHERE fresh) INTO new_cells FROM put;
  WITH put AS (
    INSERT INTO bandana.chunks SELECT p_log, t.issuer, t.kind, t.number, t.newest, t.bits
      FROM unnest(p_issuers, p_kinds, p_numbers, p_newest, p_bits)
        AS t(issuer, kind, number, newest, bits)
      ON CONFLICT (log, issuer, kind, number)
        DO UPDATE SET newest = excluded.newest, bits = excluded.bits RETURNING xmax = 0 AS fresh)
    SELECT count(*) FILTER (WHERE fresh) INTO new_chunks FROM put;
  IF EXISTS (SELECT FROM bandana.logs WHERE id = p_log AND forgotten_before < p_forget_before) THEN
    DELETE FROM bandana.ids WHERE log = p_log AND bucket < p_forget_before;
    GET DIAGNOSTICS gone_ids = ROW_COUNT;
    DELETE FROM bandana.chunks WHERE log = p_log AND newest < p_forget_before;
    GET DIAGNOSTICS gone_chunks = ROW_COUNT;
  END IF;
  UPDATE bandana.logs SET last_sequence = p_last, last_hash = p_last_hash, counters = p_counters,
      ids = ids + cardinality(p_ids) - gone_ids, cells = cells + new_cells,
      chunks = chunks + new_chunks - gone_chunks,
      forgotten_before = greatest(forgotten_before, p_forget_before)
    WHERE id = p_log;
  -- Cells have the slots 0, 1, 2 and so on: one that was there and is not any more leaves a gap.
  IF EXISTS (SELECT FROM bandana.logs WHERE id = p_log AND cells <> (
      SELECT coalesce(max(slot) + 1, 0) FROM bandana.cells WHERE log = p_log)) THEN
    RAISE EXCEPTION USING ERRCODE = 'BD002', MESSAGE = 'a cell of the log is missing';
  END IF;
END $$;

-- Drops whole batches, and cuts the one that is left of in part.
CREATE OR REPLACE FUNCTION bandana.trim(
    p_log bytea, p_term bigint, p_revision bigint, p_sequence bigint, p_hash bytea,
    p_through bigint, p_cut_last bigint, p_cut_hash bytea, p_cut_records bytea, p_seal_key bigint)
  RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM bandana.advance(p_log, p_term, p_revision, p_sequence, p_hash);
  DELETE FROM bandana.batches WHERE log = p_log AND last_sequence <= p_through;
  IF p_cut_last > 0 THEN
    UPDATE bandana.batches
      SET first_sequence = p_through + 1, hash_before = p_cut_hash, records = p_cut_records
      WHERE log = p_log AND last_sequence = p_cut_last;
  END IF;
  DELETE FROM bandana.seal_keys k WHERE k.log = p_log AND k.id <> p_seal_key
    AND NOT EXISTS (SELECT FROM bandana.batches b WHERE b.log = p_log AND b.seal_key = k.id);
  UPDATE bandana.logs SET trimmed = p_through WHERE id = p_log;
END $$;

INSERT INTO bandana.version(version) VALUES (1) ON CONFLICT DO NOTHING;
COMMIT;
)sql";

constexpr PgSchemaPart kLogTables = {.what = "logs",
                                     .make = kMakeLogTables,
                                     .find = "SELECT to_regclass('bandana.version') IS NOT NULL",
                                     .version = "SELECT version FROM bandana.version",
                                     .needed = 1};

}  // namespace

absl::Status EnsureTables(PgConnection& connection) { return EnsurePart(connection, kLogTables); }

}  // namespace bandana::server

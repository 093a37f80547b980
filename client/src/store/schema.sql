-- The device store, format 3 (docs/formats.md). Read by the C++ SDK and by the Python package.
-- Times are microseconds since the epoch. `digest` is the row's own checksum (tables.cc): SQLite
-- does not notice a flipped bit inside a row. A decision's number is run * 2^32 + a counter and
-- grows with time; `drawn` holds those whose one report exists or existed, and every number up to
-- store.forgotten counts as drawn.
CREATE TABLE store(
  id INTEGER PRIMARY KEY CHECK (id = 1),
  identity BLOB NOT NULL,
  run INTEGER NOT NULL,
  forgotten INTEGER NOT NULL,
  position INTEGER NOT NULL,
  lost_events INTEGER NOT NULL,
  lost_streams INTEGER NOT NULL,
  ledger_base INTEGER NOT NULL,
  ledger_base_hash BLOB NOT NULL,
  key_check BLOB NOT NULL) STRICT;
CREATE TABLE policies(
  id INTEGER PRIMARY KEY,
  model BLOB NOT NULL,
  hash BLOB NOT NULL,
  epsilon REAL NOT NULL,
  delta REAL NOT NULL,
  UNIQUE (model, hash)) STRICT;
CREATE TABLE ledger(
  sequence INTEGER PRIMARY KEY,
  policy INTEGER NOT NULL,
  user BLOB NOT NULL,
  epoch INTEGER NOT NULL,
  stream BLOB NOT NULL,
  events INTEGER NOT NULL,
  streams INTEGER NOT NULL,
  cost INTEGER NOT NULL,
  hash BLOB NOT NULL) STRICT;
CREATE TABLE reports(
  number INTEGER PRIMARY KEY,
  policy INTEGER NOT NULL,
  owner INTEGER NOT NULL,
  state INTEGER NOT NULL,
  wake_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  user BLOB NOT NULL,
  content BLOB NOT NULL,
  digest BLOB NOT NULL) STRICT;
CREATE INDEX reports_wake ON reports(owner, state, wake_at);
CREATE TABLE streams(
  id INTEGER PRIMARY KEY,
  policy INTEGER NOT NULL,
  owner INTEGER NOT NULL,
  user BLOB NOT NULL,
  epoch INTEGER NOT NULL,
  stream BLOB NOT NULL UNIQUE,
  end INTEGER NOT NULL,
  step INTEGER NOT NULL,
  acknowledged INTEGER NOT NULL,
  state BLOB NOT NULL,
  digest BLOB NOT NULL) STRICT;
CREATE INDEX streams_user ON streams(policy, user);
CREATE TABLE steps(
  stream INTEGER NOT NULL,
  step INTEGER NOT NULL,
  number INTEGER NOT NULL,
  content BLOB NOT NULL,
  digest BLOB NOT NULL,
  PRIMARY KEY (stream, step)) STRICT, WITHOUT ROWID;
CREATE TABLE drawn(
  number INTEGER PRIMARY KEY,
  forget_at INTEGER NOT NULL) STRICT;
-- Last, so that files of format 3 that have no such table get it.
CREATE TABLE IF NOT EXISTS kept(
  model BLOB NOT NULL,
  name BLOB NOT NULL,
  content BLOB NOT NULL,
  PRIMARY KEY (model, name)) STRICT;

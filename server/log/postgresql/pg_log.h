// A log in PostgreSQL, for its one owner. Tables: docs/formats/log.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/log/postgresql/pg_connection.h"
#include "server/log/postgresql/pg_seal.h"
#include "server/log/update_log.h"

namespace bandana::server {

struct PgLogOptions {
  PgOptions server;
  std::string id;  // of the log, 16 bytes
  std::string
      holder;  // who this is: unique among processes, the same for a process that comes back
  absl::Duration lease = absl::Seconds(10);
  std::string key_file;    // empty: records are not sealed
  bool must_seal = false;  // refuse to open without, and to read what is not sealed
};

// The seal of the log's records; null: they are plain. Errors: FAILED_PRECONDITION no key file for
// a log that must be sealed; those of the key file.
absl::StatusOr<std::unique_ptr<PgSeal>> SealOf(const PgLogOptions& options);

// Makes a new, empty log that continues `start`, in place of one of the same id. Errors: those of
// PgConnection::Open.
absl::Status CreatePgLog(const PgLogOptions& options, const LogPosition& start);

// Claims the log: from now on nobody else appends to it. Renews the lease until it is destroyed.
// Errors: DATA_LOSS the log is missing, or what it holds is damaged; UNAVAILABLE another process
// holds it, which the message names, and for how long, or the database is away; FAILED_PRECONDITION
// no key file, and those of PgConnection::Open.
absl::StatusOr<std::unique_ptr<UpdateLog>> OpenPgLog(const PgLogOptions& options);

// OK when there is none. Errors: those of PgConnection::Open.
absl::Status RemovePgLog(const PgLogOptions& options);

}  // namespace bandana::server

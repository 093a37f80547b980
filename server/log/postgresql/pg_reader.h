// Entries of a log as the database has them, for its owner and for those who follow it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/model/entries/log_entry.h"
#include "server/log/postgresql/pg_connection.h"
#include "server/log/postgresql/pg_reading.h"
#include "server/log/postgresql/pg_seal.h"

namespace bandana::server {

// Threads: safe.
class PgReader {
 public:
  // For the log with this id. `seal`: null: its records are plain; must outlive the reader.
  // `must_be_sealed`: no record is believed that somebody without the key could have written.
  PgReader(PgOptions server, std::string id, PgSeal* seal, bool must_be_sealed)
      : server_(std::move(server)),
        id_(std::move(id)),
        seal_(seal),
        must_be_sealed_(must_be_sealed) {}

  // Appends to `out` up to `entries_max` entries after `sequence`, of a log that ends at `end`.
  // `after`: where the hash of the first must continue; null: it is taken as it is stored. Errors:
  // as LogReader::Read.
  absl::Status Read(std::uint64_t sequence, const LogPosition* after, const LogPosition& end,
                    int entries_max, std::vector<LogEntry>& out) const;
  // A statement that changes nothing and has the log's id as its one value. Errors: UNAVAILABLE.
  absl::StatusOr<PgResult> Rows(const char* sql) const;
  // Takes the keys that the database has. Returns the greatest number of one. Requires a seal.
  // Errors: those of PgSeal::AddKey; UNAVAILABLE.
  absl::StatusOr<std::int64_t> ReadKeys() const;

 private:
  // Requires mutex_. Statements that only read may be asked again.
  absl::StatusOr<PgResult> Run(const char* sql, const PgValues& values) const;
  absl::StatusOr<std::int64_t> TakeKeys() const;
  absl::Status ReadBatches(int batches, PgReading& reading) const;
  absl::Status HaveKey(std::int64_t key) const;

  const PgOptions server_;
  const std::string id_;
  PgSeal* const seal_;
  const bool must_be_sealed_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<PgConnection> connection_;  // null: lost
};

// The keys of a sealed log.
inline constexpr char kReadSealKeys[] = "SELECT id, wrapped FROM bandana.seal_keys WHERE log = $1";
// One batch, or some, of a log: see DecodeBatchRow.
inline constexpr char kReadBatches[] =
    "SELECT last_sequence, first_sequence, hash_before, seal_key, records FROM bandana.batches"
    " WHERE log = $1 AND last_sequence > $2 ORDER BY last_sequence LIMIT $3";

}  // namespace bandana::server

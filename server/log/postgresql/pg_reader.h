// Entries of a log as the database has them, for its owner and for those who follow it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/model/entries/log_entry.h"
#include "server/log/postgresql/pg_batch.h"
#include "server/log/postgresql/pg_connection.h"
#include "server/log/postgresql/pg_seal.h"
#include "server/log/update_log.h"

namespace bandana::server {

// One read of the entries after `sequence`, up to `through`. A batch stores the hash before it and
// none behind: what confirms its entries is the next batch, or the log's end. Not thread-safe.
class PgReading {
 public:
  // `after`: its hash must be continued; null: whatever is there. `seal`: null: no record is
  // sealed.
  PgReading(std::uint64_t sequence, const LogPosition* after, std::uint64_t through,
            const LogPosition& end, const PgSeal* seal, std::vector<LogEntry>& out);

  bool done() const { return done_; }
  // The next batch that Take is to be given is the first one that ends after this.
  std::uint64_t from() const { return at_ ? at_->sequence : sequence_; }
  // Whether all that is wanted was read: one more batch confirms it.
  bool has_all() const { return sequence_ >= through_; }
  // Errors: DATA_LOSS the batch is not the next one, does not continue the running hash, or a
  // record does not open.
  absl::Status Take(const StoredBatch& batch);
  // After an error: takes out of `out` what nothing confirms.
  void DropUnconfirmed() { out_.resize(confirmed_); }

 private:
  bool Continues(const LogPosition& here) const {
    return !at_ || here.sequence != at_->sequence || here.hash == at_->hash;
  }
  void Confirm(bool all) {
    confirmed_ = out_.size();
    done_ = all;
  }
  absl::Status Emit(const LogPosition& here, std::int64_t key, const std::string& record);

  std::uint64_t sequence_;  // of the newest entry in out_
  const std::uint64_t through_;
  const LogPosition end_;
  const PgSeal* const seal_;
  std::vector<LogEntry>& out_;
  std::size_t confirmed_;          // so many of out_
  std::optional<LogPosition> at_;  // what was hashed
  bool done_ = false;
};

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

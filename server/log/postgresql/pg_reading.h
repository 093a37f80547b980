// Entries of a log out of its batches, each confirmed by the running hash behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/log/postgresql/pg_batch.h"
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

}  // namespace bandana::server

#include "server/log/postgresql/pg_reading.h"

#include <string>

#include "common/base/status.h"

namespace bandana::server {

PgReading::PgReading(std::uint64_t sequence, const LogPosition* after, std::uint64_t through,
                     const LogPosition& end, const PgSeal* seal, std::vector<LogEntry>& out)
    : sequence_(sequence),
      through_(through),
      end_(end),
      seal_(seal),
      out_(out),
      confirmed_(out.size()),
      done_(sequence >= through) {
  if (after != nullptr) at_ = *after;
}

absl::Status PgReading::Take(const StoredBatch& batch) {
  if (batch.first > from() + 1) return DataLoss("log entry ", from() + 1, " is missing");
  LogPosition here{.sequence = batch.first - 1, .hash = batch.hash_before};
  if (here.sequence == from() && Continues(here)) Confirm(has_all());
  if (done_) return absl::OkStatus();
  for (const std::string& record : batch.records) {
    if (!Continues(here)) {
      return DataLoss("log entry ", here.sequence + 1, " does not continue the running hash");
    }
    here = {.sequence = here.sequence + 1, .hash = ChainHash(here.hash, record)};
    if (here.sequence <= sequence_) continue;
    at_ = here;
    if (here.sequence <= through_) BANDANA_RETURN_IF_ERROR(Emit(here, batch.key, record));
  }
  if (here.sequence != end_.sequence) return absl::OkStatus();
  if (here != end_) {
    return DataLoss("log entry ", end_.sequence, " differs from the log's stored end");
  }
  Confirm(/*all=*/true);
  return absl::OkStatus();
}

absl::Status PgReading::Emit(const LogPosition& here, std::int64_t key, const std::string& record) {
  sequence_ = here.sequence;
  LogEntry& entry = out_.emplace_back(LogEntry{here, record});
  if (key == 0) return absl::OkStatus();
  absl::StatusOr<std::string> plain = seal_->Open(key, record);
  if (!plain.ok()) return Annotate(plain.status(), absl::StrCat("log entry ", here.sequence));
  entry.record = *std::move(plain);
  return absl::OkStatus();
}

}  // namespace bandana::server

#include "server/log/postgresql/pg_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/status.h"
#include "server/log/log_state.h"
#include "server/log/postgresql/pg_batch.h"

namespace bandana::server {
namespace {

constexpr int kBatchesRead = 64;      // at most at a time
constexpr int kEntriesPerBatch = 16;  // that a reader expects

constexpr char kKeys[] = "SELECT id, wrapped FROM bandana.seal_keys WHERE log = $1";

absl::Status Missing(std::uint64_t sequence) {
  return DataLoss("log entry ", sequence, " is missing");
}

}  // namespace

absl::Status PgReader::Read(std::uint64_t sequence, const LogPosition* after,
                            const LogPosition& end, int entries_max,
                            std::vector<LogEntry>& out) const {
  const std::uint64_t through =
      std::min(end.sequence, sequence + static_cast<std::uint64_t>(entries_max));
  const int batches = std::clamp(entries_max / kEntriesPerBatch, 1, kBatchesRead);
  const std::lock_guard lock(mutex_);
  std::optional<LogPosition> at;
  if (after != nullptr) at = *after;
  while (sequence < through) {
    BANDANA_ASSIGN_OR_RETURN(
        const PgResult rows,
        Run(kReadBatches, {PgValue::Bytes(id_), PgValue::Int(static_cast<std::int64_t>(sequence)),
                           PgValue::Int(batches)}));
    if (rows.rows() == 0) return Missing(sequence + 1);
    for (int row = 0; row < rows.rows() && sequence < through; ++row) {
      BANDANA_ASSIGN_OR_RETURN(const StoredBatch batch, DecodeBatchRow(rows, row));
      if (batch.first > sequence + 1) return Missing(sequence + 1);
      LogPosition here{.sequence = batch.first - 1, .hash = batch.hash_before};
      for (const std::string& record : batch.records) {
        if (at && here.sequence == at->sequence && here.hash != at->hash) {
          return DataLoss("log entry ", here.sequence + 1, " does not continue the running hash");
        }
        here = {.sequence = here.sequence + 1, .hash = ChainHash(here.hash, record)};
        if (here.sequence <= sequence) continue;
        if (here.sequence > through) break;
        at = here;
        sequence = here.sequence;
        LogEntry& entry = out.emplace_back(LogEntry{here, record});
        if (batch.key == 0) continue;
        absl::StatusOr<std::string> plain = Open(batch.key, record);
        if (!plain.ok()) {
          out.pop_back();
          return Annotate(plain.status(), absl::StrCat("log entry ", here.sequence));
        }
        entry.record = *std::move(plain);
      }
    }
  }
  if (at && at->sequence == end.sequence && *at != end) {
    return DataLoss("log entry ", end.sequence, " differs from the log's stored end");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> PgReader::Open(std::int64_t key, const std::string& record) const {
  if (seal_ == nullptr) {
    return FailedPrecondition("log.postgresql.key_file: the log is sealed, and no key is given");
  }
  // The owner takes a new key from time to time.
  if (!seal_->Has(key)) BANDANA_RETURN_IF_ERROR(TakeKeys().status());
  return seal_->Open(key, record);
}

absl::StatusOr<PgResult> PgReader::Run(const char* sql, const PgValues& values) const {
  for (int tried = 0;; ++tried) {
    if (connection_ == nullptr) {
      BANDANA_ASSIGN_OR_RETURN(connection_, PgConnection::Open(server_));
    }
    absl::StatusOr<PgResult> result = connection_->Run(sql, values);
    if (result.ok()) return result;
    connection_.reset();
    if (tried > 0) return Unavailable(result.status().message());
  }
}

absl::StatusOr<PgResult> PgReader::Rows(const char* sql) const {
  const std::lock_guard lock(mutex_);
  return Run(sql, {PgValue::Bytes(id_)});
}

absl::StatusOr<std::int64_t> PgReader::ReadKeys() const {
  const std::lock_guard lock(mutex_);
  return TakeKeys();
}

absl::StatusOr<std::int64_t> PgReader::TakeKeys() const {
  BANDANA_ASSIGN_OR_RETURN(const PgResult keys, Run(kKeys, {PgValue::Bytes(id_)}));
  std::int64_t greatest = 0;
  for (int row = 0; row < keys.rows(); ++row) {
    greatest = std::max(greatest, keys.Int(row, 0));
    BANDANA_RETURN_IF_ERROR(seal_->AddKey(keys.Int(row, 0), keys.Bytes(row, 1)));
  }
  return greatest;
}

}  // namespace bandana::server

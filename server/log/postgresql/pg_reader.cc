#include "server/log/postgresql/pg_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "server/log/postgresql/pg_batch.h"

namespace bandana::server {
namespace {

constexpr int kBatchesRead = 64;      // at most at a time
constexpr int kEntriesPerBatch = 16;  // that a reader expects

}  // namespace

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

absl::Status PgReader::Read(std::uint64_t sequence, const LogPosition* after,
                            const LogPosition& end, int entries_max,
                            std::vector<LogEntry>& out) const {
  const std::uint64_t through =
      std::min(end.sequence, sequence + static_cast<std::uint64_t>(entries_max));
  const int batches = std::clamp(entries_max / kEntriesPerBatch, 1, kBatchesRead);
  const std::lock_guard lock(mutex_);
  PgReading reading(sequence, after, through, end, seal_, out);
  absl::Status read;
  while (read.ok() && !reading.done()) {
    read = ReadBatches(reading.has_all() ? 1 : batches, reading);
  }
  if (!read.ok()) reading.DropUnconfirmed();
  return read;
}

absl::Status PgReader::ReadBatches(int batches, PgReading& reading) const {
  const auto from = static_cast<std::int64_t>(reading.from());
  BANDANA_ASSIGN_OR_RETURN(
      const PgResult rows,
      Run(kReadBatches, {PgValue::Bytes(id_), PgValue::Int(from), PgValue::Int(batches)}));
  if (rows.rows() == 0) return DataLoss("log entry ", from + 1, " is missing");
  for (int row = 0; !reading.done() && row < rows.rows(); ++row) {
    BANDANA_ASSIGN_OR_RETURN(const StoredBatch batch, DecodeBatchRow(rows, row));
    BANDANA_RETURN_IF_ERROR(HaveKey(batch.key));
    BANDANA_RETURN_IF_ERROR(reading.Take(batch));
  }
  return absl::OkStatus();
}

absl::Status PgReader::HaveKey(std::int64_t key) const {
  if (key == 0 && must_be_sealed_) {
    return DataLoss(
        "an entry of the log is not sealed: whoever may write the database put it there");
  }
  if (key == 0) return absl::OkStatus();
  if (seal_ == nullptr) {
    return FailedPrecondition("log.postgresql.key_file: the log is sealed, and no key is given");
  }
  // The owner takes a new key from time to time.
  return seal_->Has(key) ? absl::OkStatus() : TakeKeys().status();
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
  BANDANA_ASSIGN_OR_RETURN(const PgResult keys, Run(kReadSealKeys, {PgValue::Bytes(id_)}));
  std::int64_t greatest = 0;
  for (int row = 0; row < keys.rows(); ++row) {
    greatest = std::max(greatest, keys.Int(row, 0));
    BANDANA_RETURN_IF_ERROR(seal_->AddKey(keys.Int(row, 0), keys.Bytes(row, 1)));
  }
  return greatest;
}

}  // namespace bandana::server

#include "server/log/postgresql/pg_log.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/base/bytes.h"
#include "common/base/status.h"
#include "server/log/log_state.h"
#include "server/log/postgresql/pg_batch.h"
#include "server/log/postgresql/pg_lease.h"
#include "server/log/postgresql/pg_pool.h"
#include "server/log/postgresql/pg_reader.h"
#include "server/log/postgresql/pg_tables.h"

namespace bandana::server {
namespace {

// The newest entries are kept: whoever learns from them reads them as soon as they are durable.
constexpr std::size_t kTailBytesMax = 16 << 20;
constexpr int kBatchesDropped = 256;  // in one transaction
constexpr std::uint64_t kBatchesPerKey = 256;
constexpr absl::Duration kErasingPatience = absl::Minutes(10);

constexpr char kCreate[] =
    "INSERT INTO bandana.logs VALUES"
    " ($1, 0, '', '-infinity', 0, $2, $3, $2, $4, 0, 0, 0, '')";
constexpr char kRemoveLog[] = "DELETE FROM bandana.logs WHERE id = $1";
constexpr char kClaim[] =
    "UPDATE bandana.logs SET term = term + 1, owner = $2,"
    " lease_until = clock_timestamp() + $3 * interval '1 millisecond'"
    " WHERE id = $1 AND (owner = $2 OR lease_until < clock_timestamp()) RETURNING term";
constexpr char kOwner[] =
    "SELECT owner, (extract(epoch FROM lease_until - clock_timestamp()) * 1000)::bigint"
    " FROM bandana.logs WHERE id = $1";
constexpr char kState[] =
    "SELECT revision, last_sequence, last_hash, trimmed, forgotten_before, ids, cells, chunks,"
    " counters FROM bandana.logs WHERE id = $1";
// A commit of its own: when it is confirmed, so is every one before it.
constexpr char kConfirmLog[] =
    "UPDATE bandana.logs SET owner = owner WHERE id = $1 AND term = $2 RETURNING revision";
// Ends a process that may still run a statement of a lost connection, and waits until it is gone.
constexpr char kEndBackend[] =
    "SELECT pg_terminate_backend(pid, 3000)::int::bigint FROM pg_stat_activity"
    " WHERE pid = $1 AND (extract(epoch FROM backend_start) * 1000000)::bigint = $2";
constexpr char kAppend[] =
    "SELECT bandana.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,"
    " $17, $18, $19, $20, $21, $22, $23)";
constexpr char kTrim[] = "SELECT bandana.trim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
constexpr char kOldest[] =
    "SELECT max(last_sequence) FROM (SELECT last_sequence FROM bandana.batches"
    " WHERE log = $1 AND last_sequence <= $2 ORDER BY last_sequence LIMIT $3) AS oldest";
constexpr char kPutKey[] = "INSERT INTO bandana.seal_keys VALUES ($1, $2, $3)";
constexpr char kOldestKey[] = "SELECT min(id) FROM bandana.seal_keys WHERE log = $1";
constexpr char kIds[] =
    "SELECT bucket, sequence, kind, id, checksum FROM bandana.ids WHERE log = $1";
constexpr char kCells[] = "SELECT slot, value FROM bandana.cells WHERE log = $1 ORDER BY slot";
constexpr char kChunks[] =
    "SELECT issuer, kind, number, newest, bits FROM bandana.chunks WHERE log = $1";

struct PgLogState {
  LogState log;
  std::int64_t revision = 0;
};

// The state of the log after a transaction.
struct NextState : PgLogState {
  std::vector<LogEntry> appended;
};

PgValue HashValue(const Sha256Digest& hash) { return PgValue::Bytes(AsChars(hash)); }

absl::StatusOr<std::unique_ptr<PgConnection>> Connect(const PgOptions& server) {
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<PgConnection> connection, PgConnection::Open(server));
  BANDANA_RETURN_IF_ERROR(EnsureTables(*connection));
  return connection;
}

class PgLog final : public UpdateLog {
 public:
  explicit PgLog(PgLogOptions options) : options_(std::move(options)) {}

  absl::Status Open() {
    BANDANA_ASSIGN_OR_RETURN(seal_, SealOf(options_));
    reader_ =
        std::make_unique<PgReader>(options_.server, options_.id, seal_.get(), options_.must_seal);
    BANDANA_ASSIGN_OR_RETURN(writer_, Connect(options_.server));
    BANDANA_RETURN_IF_ERROR(Claim());
    // From here on the log changes by this object alone.
    lease_ = std::make_unique<PgLease>(options_.server, options_.id, term_, options_.lease);
    BANDANA_ASSIGN_OR_RETURN(state_, ReadState(*writer_));
    opened_ = state_.log;
    if (seal_ == nullptr) return CheckNotSealed();
    BANDANA_ASSIGN_OR_RETURN(tried_key_, reader_->ReadKeys());
    return NewKey();
  }

  std::int64_t term() const override { return term_; }

  absl::Status Append(const LogBatch& batch) override {
    if (pending_) return Pending();
    if (batches_of_key_ >= kBatchesPerKey) BANDANA_RETURN_IF_ERROR(NewKey());
    NextState next{state_, {}};
    next.log.counters = batch.counters;
    BANDANA_ASSIGN_OR_RETURN(const PgValues values, AppendValues(batch, next));
    ++batches_of_key_;
    return Change(kAppend, values, std::move(next));
  }

  absl::StatusOr<bool> FindOut() override {
    if (!pending_) return false;  // nothing was sent
    // After this the statement cannot take effect any more, if it has not yet.
    BANDANA_ASSIGN_OR_RETURN(
        const PgResult ended,
        Ask(kEndBackend, {PgValue::Int(pending_at_.pid), PgValue::Int(pending_at_.started)}));
    if (ended.rows() > 0 && ended.Int(0, 0) == 0) {
      return absl::UnknownError("PostgreSQL: a statement of a lost connection goes on");
    }
    BANDANA_ASSIGN_OR_RETURN(const PgResult confirmed,
                             Ask(kConfirmLog, {PgValue::Bytes(options_.id), PgValue::Int(term_)}));
    if (confirmed.rows() == 0) return Fenced();
    const std::int64_t revision = confirmed.Int(0, 0);
    if (revision == pending_->revision) {
      Keep(*std::exchange(pending_, std::nullopt));
      return true;
    }
    if (revision != state_.revision) {
      return DataLoss("the log has changed without its owner: revision ", revision, ", expected ",
                      state_.revision);
    }
    pending_.reset();
    return false;
  }

  absl::StatusOr<bool> Trim(std::uint64_t through, int /*entries_max*/) override {
    if (pending_) return Pending();
    through = std::min(through, state_.log.last.sequence);
    if (through <= state_.log.trimmed) return FinishErasing();
    // Whole batches first, some at a time; then the one that is cut.
    BANDANA_ASSIGN_OR_RETURN(const PgResult oldest,
                             Ask(kOldest, {PgValue::Bytes(options_.id), PgValue::Unsigned(through),
                                           PgValue::Int(kBatchesDropped)}));
    std::uint64_t until = through;
    StoredBatch cut;
    if (!oldest.IsNull(0, 0)) {
      BANDANA_ASSIGN_OR_RETURN(
          const PgResult rest,
          Ask(kReadBatches,
              {PgValue::Bytes(options_.id), PgValue::Int(oldest.Int(0, 0)), PgValue::Int(1)}));
      // More whole batches behind them wait for the next slice.
      const bool more = rest.rows() > 0 && static_cast<std::uint64_t>(rest.Int(0, 0)) <= through;
      if (more) until = static_cast<std::uint64_t>(oldest.Int(0, 0));
    }
    if (until == through) {
      BANDANA_ASSIGN_OR_RETURN(const PgResult rest,
                               Ask(kReadBatches, {PgValue::Bytes(options_.id),
                                                  PgValue::Unsigned(through), PgValue::Int(1)}));
      if (rest.rows() > 0) {
        BANDANA_ASSIGN_OR_RETURN(cut, DecodeBatchRow(rest, 0));
      }
      if (cut.first > through) cut = {};
    }
    BANDANA_RETURN_IF_ERROR(CutBatch(cut, until));
    // The present key dies now if all entries under it are dropped, and else with the next trim.
    if (until == through && batches_of_key_ > 0) BANDANA_RETURN_IF_ERROR(NewKey());
    NextState next{state_, {}};
    next.log.trimmed = until;
    BANDANA_RETURN_IF_ERROR(
        Change(kTrim,
               {PgValue::Bytes(options_.id), PgValue::Int(term_), PgValue::Int(state_.revision),
                PgValue::Unsigned(state_.log.last.sequence), HashValue(state_.log.last.hash),
                PgValue::Unsigned(until), PgValue::Unsigned(cut.last), HashValue(cut.hash_before),
                PgValue::Bytes(EncodeRecords(cut.records)), PgValue::Int(key_)},
               std::move(next)));
    BANDANA_RETURN_IF_ERROR(ForgetKeys());
    return until < through ? true : FinishErasing();
  }

  void EraseTrimmed() override { erase_ = true; }

  absl::Status Read(const LogPosition& after, int entries_max,
                    std::vector<LogEntry>& out) const override {
    if (ReadTail(after, entries_max, out)) return absl::OkStatus();
    return reader_->Read(after.sequence, &after, last(), entries_max, out);
  }
  absl::Status ReadLeft(std::uint64_t sequence, int entries_max,
                        std::vector<LogEntry>& out) const override {
    return reader_->Read(sequence, nullptr, last(), entries_max, out);
  }

  LogPosition last() const override {
    const std::lock_guard lock(state_mutex_);
    return state_.log.last;
  }
  std::uint64_t trimmed() const override {
    const std::lock_guard lock(state_mutex_);
    return state_.log.trimmed;
  }

  absl::Status ForEachId(const std::function<void(const RememberedId&)>& visit) const override {
    BANDANA_ASSIGN_OR_RETURN(const PgResult rows, reader_->Rows(kIds));
    for (int row = 0; row < rows.rows(); ++row) {
      RememberedId id{.bucket = rows.Int(row, 0),
                      .kind = static_cast<std::uint8_t>(rows.Int(row, 2))};
      const std::string_view bytes = rows.Bytes(row, 3);
      if (bytes.size() == id.id.size()) std::memcpy(id.id.data(), bytes.data(), bytes.size());
      const auto sequence = static_cast<std::uint64_t>(rows.Int(row, 1));
      if (bytes.size() != id.id.size() || rows.Int(row, 4) != IdCheck(id, sequence)) {
        return DataLoss("decision id of log entry ", sequence, ": checksum mismatch");
      }
      visit(id);
    }
    return CheckCount(rows, opened_.ids, "decision ids");
  }
  absl::Status ForEachCell(const std::function<void(const Cell&)>& visit) const override {
    BANDANA_ASSIGN_OR_RETURN(const PgResult rows, reader_->Rows(kCells));
    for (int row = 0; row < rows.rows(); ++row) {
      if (rows.Int(row, 0) != row) return DataLoss("cell ", row, " of the log is missing");
      BANDANA_ASSIGN_OR_RETURN(const Cell cell, DecodeCell(row, rows.Bytes(row, 1)));
      visit(cell);
    }
    return CheckCount(rows, opened_.cells, "cells");
  }
  absl::Status ForEachChunk(const std::function<void(const IdChunk&)>& visit) const override {
    BANDANA_ASSIGN_OR_RETURN(const PgResult rows, reader_->Rows(kChunks));
    for (int row = 0; row < rows.rows(); ++row) {
      IdChunk chunk{.issuer = static_cast<std::uint64_t>(rows.Int(row, 0)),
                    .kind = static_cast<std::uint8_t>(rows.Int(row, 1)),
                    .number = static_cast<std::uint64_t>(rows.Int(row, 2)),
                    .newest = rows.Int(row, 3)};
      BANDANA_RETURN_IF_ERROR(DecodeChunk(rows.Bytes(row, 4), chunk));
      visit(chunk);
    }
    return CheckCount(rows, opened_.chunks, "chunks of decision ids");
  }
  std::int64_t forgotten_before() const override { return opened_.forgotten_before; }
  const std::string& counters() const override { return opened_.counters; }

 private:
  absl::Status Claim() {
    const PgValue id = PgValue::Bytes(options_.id);
    BANDANA_ASSIGN_OR_RETURN(
        const PgResult claimed,
        writer_->Run(kClaim, {id, PgValue::Text(options_.holder),
                              PgValue::Int(absl::ToInt64Milliseconds(options_.lease))}));
    if (claimed.rows() == 1) {
      term_ = claimed.Int(0, 0);
      return absl::OkStatus();
    }
    BANDANA_ASSIGN_OR_RETURN(const PgResult owner, writer_->Run(kOwner, {id}));
    if (owner.rows() == 0) return DataLoss("PostgreSQL has no such log");
    return Unavailable("the log belongs to ", ToAbsl(owner.Bytes(0, 0)), " for another ",
                       owner.Int(0, 1), " ms: a model has one server at a time");
  }

  absl::StatusOr<PgLogState> ReadState(PgConnection& connection) const {
    BANDANA_ASSIGN_OR_RETURN(const PgResult row,
                             connection.Run(kState, {PgValue::Bytes(options_.id)}));
    if (row.rows() != 1) return DataLoss("PostgreSQL has no such log");
    PgLogState state{.revision = row.Int(0, 0)};
    state.log.last.sequence = static_cast<std::uint64_t>(row.Int(0, 1));
    BANDANA_ASSIGN_OR_RETURN(state.log.last.hash, HashOf(row.Bytes(0, 2)));
    state.log.trimmed = static_cast<std::uint64_t>(row.Int(0, 3));
    state.log.forgotten_before = row.Int(0, 4);
    state.log.ids = static_cast<std::uint64_t>(row.Int(0, 5));
    state.log.cells = static_cast<std::uint64_t>(row.Int(0, 6));
    state.log.chunks = static_cast<std::uint64_t>(row.Int(0, 7));
    state.log.counters = row.Bytes(0, 8);
    return state;
  }

  absl::Status CheckNotSealed() {
    BANDANA_ASSIGN_OR_RETURN(const PgResult keys,
                             writer_->Run(kReadSealKeys, {PgValue::Bytes(options_.id)}));
    if (keys.rows() == 0) return absl::OkStatus();
    return FailedPrecondition("log.postgresql.key_file: the log is sealed, and no key is given");
  }
  // Entries appended from now on are sealed under a new key and die with it. Each try has a number
  // of its own: a key is used once the database is known to have it, and an insert that comes late
  // replaces none.
  absl::Status NewKey() {
    if (seal_ != nullptr) {
      const std::int64_t id = ++tried_key_;
      BANDANA_ASSIGN_OR_RETURN(const std::string wrapped, seal_->NewKey(id));
      BANDANA_RETURN_IF_ERROR(
          Ask(kPutKey, {PgValue::Bytes(options_.id), PgValue::Int(id), PgValue::Bytes(wrapped)})
              .status());
      key_ = id;
    }
    batches_of_key_ = 0;
    return absl::OkStatus();
  }

  absl::Status ForgetKeys() {
    if (seal_ == nullptr) return absl::OkStatus();
    BANDANA_ASSIGN_OR_RETURN(const PgResult oldest, Ask(kOldestKey, {PgValue::Bytes(options_.id)}));
    seal_->ForgetBefore(oldest.Int(0, 0));
    return absl::OkStatus();
  }

  absl::StatusOr<PgValues> AppendValues(const LogBatch& batch, NextState& next) {
    std::vector<std::string> records;
    std::vector<std::int64_t> buckets, sequences, kinds, checks;
    std::vector<std::string> ids;
    for (const NewRecord& record : batch.records) {
      std::string& stored = records.emplace_back(record.bytes);
      if (seal_ != nullptr) {
        BANDANA_ASSIGN_OR_RETURN(stored, seal_->Seal(key_, record.bytes));
      }
      LogPosition& last = next.log.last;
      ++last.sequence;
      last.hash = ChainHash(last.hash, stored);
      next.appended.push_back({last, std::string(record.bytes)});
      for (const RememberedId& id : record.ids) {
        buckets.push_back(id.bucket);
        sequences.push_back(static_cast<std::int64_t>(last.sequence));
        kinds.push_back(id.kind);
        ids.emplace_back(AsChars(id.id));
        checks.push_back(IdCheck(id, last.sequence));
      }
    }
    // One statement changes a row once: the last word counts.
    std::map<std::uint64_t, std::string> cells;
    for (const Cell& cell : batch.cells) cells[cell.slot] = EncodeCell(cell);
    std::vector<std::int64_t> slots;
    std::vector<std::string> values;
    for (auto& [slot, value] : cells) {
      slots.push_back(static_cast<std::int64_t>(slot));
      values.push_back(std::move(value));
    }
    std::map<std::tuple<std::uint64_t, std::uint8_t, std::uint64_t>, const IdChunk*> chunks;
    for (const IdChunk& chunk : batch.chunks) {
      chunks[{chunk.issuer, chunk.kind, chunk.number}] = &chunk;
    }
    std::vector<std::int64_t> issuers, chunk_kinds, numbers, newest;
    std::vector<std::string> bits;
    for (const auto& [key, chunk] : chunks) {
      issuers.push_back(static_cast<std::int64_t>(chunk->issuer));
      chunk_kinds.push_back(chunk->kind);
      numbers.push_back(static_cast<std::int64_t>(chunk->number));
      newest.push_back(chunk->newest);
      bits.push_back(EncodeChunk(*chunk));
    }
    const LogPosition& old = state_.log.last;
    const LogPosition& last = next.log.last;
    return PgValues{PgValue::Bytes(options_.id),
                    PgValue::Int(term_),
                    PgValue::Int(state_.revision),
                    PgValue::Unsigned(old.sequence),
                    HashValue(old.hash),
                    PgValue::Unsigned(last.sequence),
                    HashValue(last.hash),
                    PgValue::Int(key_),
                    PgValue::Bytes(EncodeRecords(records)),
                    PgValue::Bytes(batch.counters),
                    PgValue::Int(batch.forget_before.value_or(INT64_MIN)),
                    PgValue::Ints(buckets),
                    PgValue::Ints(sequences),
                    PgValue::Ints(kinds),
                    PgValue::ManyBytes(ids),
                    PgValue::Ints(checks),
                    PgValue::Ints(slots),
                    PgValue::ManyBytes(values),
                    PgValue::Ints(issuers),
                    PgValue::Ints(chunk_kinds),
                    PgValue::Ints(numbers),
                    PgValue::Ints(newest),
                    PgValue::ManyBytes(bits)};
  }

  // One transaction that advances the log from state_ to `next`.
  absl::Status Change(const char* sql, const PgValues& values, NextState next) {
    next.revision = state_.revision + 1;
    BANDANA_RETURN_IF_ERROR(Reconnect());
    absl::Status done = writer_->Run(sql, values).status();
    if (done.ok()) {
      Keep(std::move(next));
      return done;
    }
    if (SqlStateOf(done) == "BD002") return DataLoss(done.message());
    if (!SqlStateOf(done).empty() && !absl::IsUnavailable(done)) return done;
    // An error of the server says that nothing was done; it is found out all the same.
    pending_ = std::move(next);
    pending_at_ = writer_->backend();
    return Unknown(done);
  }
  absl::Status Unknown(const absl::Status& why) {
    if (absl::IsAborted(why)) return why;
    writer_.reset();
    return absl::UnknownError(why.message());
  }
  static absl::Status Fenced() {
    return absl::AbortedError("the log belongs to another server now, or is not there any more");
  }
  absl::Status Reconnect() {
    if (writer_ != nullptr) return absl::OkStatus();
    auto opened = Connect(options_.server);
    if (!opened.ok()) return absl::UnknownError(opened.status().message());
    writer_ = *std::move(opened);
    return absl::OkStatus();
  }
  // The answer to a statement that changes nothing that counts.
  absl::StatusOr<PgResult> Ask(const char* sql, const PgValues& values) {
    BANDANA_RETURN_IF_ERROR(Reconnect());
    absl::StatusOr<PgResult> result = writer_->Run(sql, values);
    if (!result.ok()) return Unknown(result.status());
    return result;
  }
  static absl::Status Pending() {
    return absl::UnknownError("what became of the change before is not known yet");
  }
  void Keep(NextState next) {
    const std::lock_guard lock(state_mutex_);
    if (tail_.empty()) before_tail_ = state_.log.last;
    for (LogEntry& entry : next.appended) {
      tail_bytes_ += entry.record.size();
      tail_.push_back(std::move(entry));
    }
    while (tail_bytes_ > kTailBytesMax ||
           (!tail_.empty() && tail_.front().position.sequence <= next.log.trimmed)) {
      tail_bytes_ -= tail_.front().record.size();
      before_tail_ = tail_.front().position;
      tail_.pop_front();
    }
    state_ = std::move(next);
  }
  // Whether the entries after the position are all in the tail; then they are in `out`.
  bool ReadTail(const LogPosition& after, int entries_max, std::vector<LogEntry>& out) const {
    const std::lock_guard lock(state_mutex_);
    if (tail_.empty()) return after == state_.log.last;
    const std::uint64_t first = tail_.front().position.sequence;
    if (after.sequence + 1 < first || after.sequence > state_.log.last.sequence) return false;
    const LogPosition& there =
        after.sequence < first ? before_tail_ : tail_[after.sequence - first].position;
    if (there != after) return false;
    for (std::size_t i = after.sequence + 1 - first; i < tail_.size() && entries_max > 0; ++i) {
      out.push_back(tail_[i]);
      --entries_max;
    }
    return true;
  }

  // Rows that were dropped stand in their pages until they are swept out, and their bytes until the
  // pages are written again. Sealed records are nothing without their keys; plain ones, and the
  // keys, go to fresh files.
  absl::StatusOr<bool> FinishErasing() {
    if (!erase_) return false;
    PgOptions patient = options_.server;
    patient.patience = kErasingPatience;
    const auto connection = Connect(patient);
    if (!connection.ok()) return Unknown(connection.status());
    const absl::Status swept = (*connection)
                                   ->Exec(seal_ == nullptr ? "VACUUM FULL bandana.batches"
                                                           : "VACUUM FULL bandana.seal_keys");
    if (!swept.ok()) return Unknown(swept);
    erase_ = false;
    return false;
  }

  static absl::Status CheckCount(const PgResult& rows, std::uint64_t expected,
                                 std::string_view what) {
    if (static_cast<std::uint64_t>(rows.rows()) == expected) return absl::OkStatus();
    return DataLoss("log holds ", rows.rows(), " ", ToAbsl(what), ", its state says ", expected);
  }

  const PgLogOptions options_;
  std::int64_t term_ = 0;
  std::unique_ptr<PgLease> lease_;
  std::unique_ptr<PgConnection> writer_;  // null: lost
  std::unique_ptr<PgSeal> seal_;          // null: records are plain
  std::unique_ptr<PgReader> reader_;
  std::int64_t key_ = 0;        // what is appended is sealed under it
  std::int64_t tried_key_ = 0;  // the greatest number that a key was given
  std::uint64_t batches_of_key_ = 0;
  mutable std::mutex state_mutex_;  // for readers; the appending thread alone changes state_
  PgLogState state_;
  std::deque<LogEntry> tail_;  // the newest entries in a row
  LogPosition before_tail_;    // where they begin, if there are any
  std::size_t tail_bytes_ = 0;
  LogState opened_;
  std::optional<NextState> pending_;  // what the log may be by now
  PgBackend pending_at_;              // the process that was asked for it
  bool erase_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PgSeal>> SealOf(const PgLogOptions& options) {
  if (!options.key_file.empty()) return PgSeal::FromFile(options.key_file, options.id);
  if (!options.must_seal) return std::unique_ptr<PgSeal>();
  return FailedPrecondition(
      "log.postgresql.key_file: is required for models whose log holds raw rewards that the"
      " server releases with noise");
}

absl::Status CreatePgLog(const PgLogOptions& options, const LogPosition& start) {
  const auto connection = Connect(options.server);
  if (!connection.ok()) return WithoutUnknown(connection.status());
  const PgValue id = PgValue::Bytes(options.id);
  const absl::Status removed = (*connection)->Run(kRemoveLog, {id}).status();
  if (!removed.ok()) return WithoutUnknown(removed);
  const PgValues made = {id, PgValue::Unsigned(start.sequence), HashValue(start.hash),
                         PgValue::Int(INT64_MIN)};
  return WithoutUnknown((*connection)->Run(kCreate, made).status());
}

absl::StatusOr<std::unique_ptr<UpdateLog>> OpenPgLog(const PgLogOptions& options) {
  auto log = std::make_unique<PgLog>(options);
  BANDANA_RETURN_IF_ERROR(WithoutUnknown(log->Open()));
  return log;
}

absl::Status RemovePgLog(const PgLogOptions& options) {
  const auto connection = Connect(options.server);
  if (!connection.ok()) return WithoutUnknown(connection.status());
  return WithoutUnknown((*connection)->Run(kRemoveLog, {PgValue::Bytes(options.id)}).status());
}

}  // namespace bandana::server

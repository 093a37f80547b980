#include "server/log/sqlite_log.h"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

#include "common/base/removal.h"
#include "common/base/status.h"
#include "server/log/log_state.h"
#include "server/log/sqlite.h"
#include "server/log/wal_check.h"
#include "server/log/wal_checkpointer.h"

namespace bandana::server {
namespace {

constexpr std::int64_t kSchemaVersion = 4;
constexpr std::int64_t kCellsSince = 3;
constexpr char kSchema[] =
    "PRAGMA user_version = 4;"
    "CREATE TABLE state(row INTEGER PRIMARY KEY CHECK (row = 1), value BLOB NOT NULL);"
    "CREATE TABLE log(sequence INTEGER PRIMARY KEY, hash BLOB NOT NULL, record BLOB NOT NULL);"
    // By (bucket, sequence): new rows go to the end of their bucket, and a bucket is dropped as one
    // range. By id they would dirty one page each.
    "CREATE TABLE ids(bucket INTEGER, sequence INTEGER, kind INTEGER NOT NULL, id BLOB NOT NULL,"
    " checksum INTEGER NOT NULL, PRIMARY KEY (bucket, sequence, id)) WITHOUT ROWID;"
    // Rows of one size that are never deleted: SQLite overwrites such a row where it stands, so
    // that neither its old bytes nor a change of any size are left behind.
    "CREATE TABLE cells(slot INTEGER PRIMARY KEY, value BLOB NOT NULL);"
    // Dense ids: which of 4096 in a row are known. One row of one size each, written again.
    "CREATE TABLE chunks(issuer INTEGER, kind INTEGER, number INTEGER, newest INTEGER NOT NULL,"
    " bits BLOB NOT NULL, PRIMARY KEY (issuer, kind, number)) WITHOUT ROWID;"
    "CREATE INDEX chunks_by_newest ON chunks(newest);";
constexpr char kToFreshPages[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE fresh(sequence INTEGER PRIMARY KEY, hash BLOB NOT NULL, record BLOB NOT NULL);"
    "INSERT INTO fresh SELECT sequence, hash, record FROM log;"
    "DROP TABLE log;"
    "ALTER TABLE fresh RENAME TO log;"
    "COMMIT;";
// Version 1 allowed one id per entry.
constexpr char kFromVersion1[] =
    "BEGIN IMMEDIATE;"
    "ALTER TABLE ids RENAME TO ids_1;"
    "CREATE TABLE ids(bucket INTEGER, sequence INTEGER, kind INTEGER NOT NULL, id BLOB NOT NULL,"
    " checksum INTEGER NOT NULL, PRIMARY KEY (bucket, sequence, id)) WITHOUT ROWID;"
    "INSERT INTO ids SELECT bucket, sequence, kind, id, checksum FROM ids_1;"
    "DROP TABLE ids_1;"
    "PRAGMA user_version = 2;"
    "COMMIT;";
// Version 2 had no cells.
constexpr char kFromVersion2[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE cells(slot INTEGER PRIMARY KEY, value BLOB NOT NULL);"
    "PRAGMA user_version = 3;"
    "COMMIT;";
// Version 3 had no chunks of ids.
constexpr char kFromVersion3[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE chunks(issuer INTEGER, kind INTEGER, number INTEGER, newest INTEGER NOT NULL,"
    " bits BLOB NOT NULL, PRIMARY KEY (issuer, kind, number)) WITHOUT ROWID;"
    "CREATE INDEX chunks_by_newest ON chunks(newest);"
    "PRAGMA user_version = 4;"
    "COMMIT;";

class SqliteLog final : public UpdateLog {
 public:
  ~SqliteLog() override {
    checkpointer_.reset();
    if (writer_.get() == nullptr) return;
    // Leaves no raw records behind in the write-ahead file; a failure only means the next start
    // does it.
    sqlite3_wal_checkpoint_v2(writer_.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  }

  absl::Status Open(const SqliteLogOptions& options) {
    erases_ = options.erase_trimmed;
    BANDANA_RETURN_IF_ERROR(CheckWal(options.path + "-wal"));
    BANDANA_ASSIGN_OR_RETURN(writer_, OpenSqlite(options.path, options.vfs));
    BANDANA_ASSIGN_OR_RETURN(reader_, OpenSqlite(options.path, options.vfs));
    BANDANA_RETURN_IF_ERROR(ReadState());
    BANDANA_RETURN_IF_ERROR(PrepareStatements());
    // Frames that a crash left behind the last valid one must not be taken for damage by a later
    // CheckWal.
    const int code = sqlite3_wal_checkpoint_v2(writer_.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE,
                                               nullptr, nullptr);
    remains_ = (code & 0xff) == SQLITE_FULL;
    if (code != SQLITE_OK && !remains_) return SqliteStatus(code, writer_.get(), "checkpoint");
    BANDANA_ASSIGN_OR_RETURN(SqliteConnection own, OpenSqlite(options.path, options.vfs));
    checkpointer_ =
        std::make_unique<WalCheckpointer>(std::move(own), options.wal_pages_max, options.stepped);
    sqlite3_wal_hook(
        writer_.get(),
        [](void* checkpointer, sqlite3*, const char*, int pages) {
          static_cast<WalCheckpointer*>(checkpointer)->Notice(pages);
          return SQLITE_OK;
        },
        checkpointer_.get());
    return absl::OkStatus();
  }

  absl::Status Append(const LogBatch& batch) override {
    LogState next = state_;
    next.counters = batch.counters;
    BANDANA_RETURN_IF_ERROR(Transaction(next, [&]() -> absl::Status {
      BANDANA_RETURN_IF_ERROR(AppendRows(batch, next));
      return batch.trim_through > 0 ? TrimRows(batch.trim_through, next) : absl::OkStatus();
    }));
    if (batch.trim_through > 0) NoteRemains();
    return absl::OkStatus();
  }
  bool TrimsWithAppends() const override { return true; }

  absl::StatusOr<bool> Trim(std::uint64_t through, int entries_max) override {
    through = std::min(through, state_.last.sequence);
    if (through <= state_.trimmed) return remains_ ? EraseRemains() : false;
    LogState next = state_;
    const std::uint64_t to = state_.trimmed + static_cast<std::uint64_t>(entries_max);
    BANDANA_RETURN_IF_ERROR(
        Transaction(next, [&] { return TrimRows(std::min(through, to), next); }));
    NoteRemains();
    // `next` has been moved from.
    return state_.trimmed < through ? true : EraseRemains();
  }

  absl::Status Read(const LogPosition& after, int entries_max,
                    std::vector<LogEntry>& out) const override {
    const std::uint64_t through =
        std::min(last().sequence, after.sequence + static_cast<std::uint64_t>(entries_max));
    if (through <= after.sequence) return absl::OkStatus();
    std::lock_guard lock(reader_mutex_);
    read_log_.Bind(1, static_cast<std::int64_t>(after.sequence))
        .Bind(2, static_cast<std::int64_t>(through));
    absl::Status done = ReadRows(after, through, out);
    read_log_.Reset();
    return done;
  }

  void EraseTrimmed() override {
    erase_wanted_ = remains_ = true;
    moved_ = false;
  }

  absl::Status ReadLeft(std::uint64_t sequence, int entries_max,
                        std::vector<LogEntry>& out) const override {
    LogPosition after{.sequence = sequence};
    std::lock_guard lock(reader_mutex_);
    read_log_.Bind(1, static_cast<std::int64_t>(sequence))
        .Bind(2, static_cast<std::int64_t>(sequence + 1));
    const absl::StatusOr<bool> row = read_log_.Step();
    if (row.ok() && *row) {
      LogEntry& first = out.emplace_back();
      first.record = read_log_.Blob(2);
      const std::string_view hash = read_log_.Blob(1);
      first.position.sequence = sequence + 1;
      if (hash.size() == first.position.hash.size()) {
        std::memcpy(first.position.hash.data(), hash.data(), hash.size());
      }
      after = first.position;
    }
    read_log_.Reset();
    BANDANA_RETURN_IF_ERROR(row.status());
    const std::uint64_t through =
        std::min(last().sequence, sequence + static_cast<std::uint64_t>(entries_max));
    if (!*row || through <= after.sequence) return absl::OkStatus();
    read_log_.Bind(1, static_cast<std::int64_t>(after.sequence))
        .Bind(2, static_cast<std::int64_t>(through));
    absl::Status done = ReadRows(after, through, out);
    read_log_.Reset();
    return done;
  }

  LogPosition last() const override {
    std::lock_guard lock(state_mutex_);
    return state_.last;
  }
  std::uint64_t trimmed() const override {
    std::lock_guard lock(state_mutex_);
    return state_.trimmed;
  }

  absl::Status ForEachId(const std::function<void(const RememberedId&)>& visit) const override {
    std::lock_guard lock(reader_mutex_);
    BANDANA_ASSIGN_OR_RETURN(
        SqliteStatement rows,
        reader_.Prepare("SELECT bucket, sequence, kind, id, checksum FROM ids"));
    std::uint64_t count = 0;
    for (;; ++count) {
      BANDANA_ASSIGN_OR_RETURN(const bool row, rows.Step());
      if (!row) break;
      RememberedId id{.bucket = rows.Int(0), .kind = static_cast<std::uint8_t>(rows.Int(2))};
      const std::string_view bytes = rows.Blob(3);
      if (bytes.size() == id.id.size()) std::memcpy(id.id.data(), bytes.data(), bytes.size());
      if (bytes.size() != id.id.size() || rows.Int(4) != IdCheck(id, rows.Int(1))) {
        return DataLoss("decision id of log entry ", rows.Int(1), ": checksum mismatch");
      }
      visit(id);
    }
    if (count != opened_ids_) {
      return DataLoss("log holds ", count, " decision ids, its state says ", opened_ids_);
    }
    return absl::OkStatus();
  }
  absl::Status ForEachCell(const std::function<void(const Cell&)>& visit) const override {
    if (opened_cells_ == 0 && version_ < kCellsSince) return absl::OkStatus();
    std::lock_guard lock(reader_mutex_);
    BANDANA_ASSIGN_OR_RETURN(SqliteStatement rows,
                             reader_.Prepare("SELECT slot, value FROM cells ORDER BY slot"));
    std::uint64_t count = 0;
    for (;; ++count) {
      BANDANA_ASSIGN_OR_RETURN(const bool row, rows.Step());
      if (!row) break;
      if (static_cast<std::uint64_t>(rows.Int(0)) != count) {
        return DataLoss("cell ", count, " of the log is missing");
      }
      BANDANA_ASSIGN_OR_RETURN(const Cell cell, DecodeCell(count, rows.Blob(1)));
      visit(cell);
    }
    if (count != opened_cells_) {
      return DataLoss("log holds ", count, " cells, its state says ", opened_cells_);
    }
    return absl::OkStatus();
  }
  absl::Status ForEachChunk(const std::function<void(const IdChunk&)>& visit) const override {
    if (opened_chunks_ == 0 && version_ < kSchemaVersion) return absl::OkStatus();
    std::lock_guard lock(reader_mutex_);
    BANDANA_ASSIGN_OR_RETURN(
        SqliteStatement rows,
        reader_.Prepare("SELECT issuer, kind, number, newest, bits FROM chunks"));
    std::uint64_t count = 0;
    for (;; ++count) {
      BANDANA_ASSIGN_OR_RETURN(const bool row, rows.Step());
      if (!row) break;
      IdChunk chunk{.issuer = static_cast<std::uint64_t>(rows.Int(0)),
                    .kind = static_cast<std::uint8_t>(rows.Int(1)),
                    .number = static_cast<std::uint64_t>(rows.Int(2)),
                    .newest = rows.Int(3)};
      BANDANA_RETURN_IF_ERROR(DecodeChunk(rows.Blob(4), chunk));
      visit(chunk);
    }
    if (count != opened_chunks_) {
      return DataLoss("log holds ", count, " chunks of decision ids, its state says ",
                      opened_chunks_);
    }
    return absl::OkStatus();
  }
  std::int64_t forgotten_before() const override { return opened_forgotten_before_; }
  const std::string& counters() const override { return opened_counters_; }

 private:
  // Deleted rows are overwritten where they stood (secure_delete), but pages that were split or
  // merged may keep copies of rows in their gaps, and the write-ahead file has the pages as they
  // were. So what is left moves to fresh pages, the old ones are zeroed as a whole, and the file is
  // cut. True: a reader was in the way, try again.
  absl::StatusOr<bool> EraseRemains() {
    if ((erases_ || erase_wanted_) && !moved_) {
      const absl::Status moved = writer_.Exec(kToFreshPages);
      if (!moved.ok()) {
        if (writer_.InTransaction()) writer_.Exec("ROLLBACK").IgnoreError();
        return moved;
      }
      moved_ = true;
    }
    const int code = sqlite3_wal_checkpoint_v2(writer_.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE,
                                               nullptr, nullptr);
    if ((code & 0xff) == SQLITE_BUSY) return true;
    BANDANA_RETURN_IF_ERROR(SqliteStatus(code, writer_.get(), "checkpoint"));
    remains_ = moved_ = erase_wanted_ = false;
    return false;
  }

  absl::StatusOr<std::int64_t> ReadVersion() {
    BANDANA_ASSIGN_OR_RETURN(SqliteStatement version, writer_.Prepare("PRAGMA user_version"));
    BANDANA_ASSIGN_OR_RETURN(const bool has_version, version.Step());
    return has_version ? version.Int(0) : 0;
  }

  absl::Status CheckVersion() {
    BANDANA_ASSIGN_OR_RETURN(std::int64_t version, ReadVersion());
    if (version == 1) {
      BANDANA_RETURN_IF_ERROR(Annotate(writer_.Exec(kFromVersion1), "log of version 1"));
      BANDANA_ASSIGN_OR_RETURN(version, ReadVersion());
    }
    version_ = version;
    if (version >= 2 && version <= kSchemaVersion) return absl::OkStatus();
    return DataLoss("log: no tables, or tables of another version than ", kSchemaVersion);
  }

  absl::Status ReadState() {
    BANDANA_RETURN_IF_ERROR(CheckVersion());
    BANDANA_ASSIGN_OR_RETURN(SqliteStatement row, writer_.Prepare("SELECT value FROM state"));
    BANDANA_ASSIGN_OR_RETURN(const bool has_row, row.Step());
    if (!has_row) return DataLoss("log: its state is missing");
    BANDANA_ASSIGN_OR_RETURN(state_, DecodeLogState(row.Blob(0)));
    opened_ids_ = state_.ids;
    opened_cells_ = state_.cells;
    opened_chunks_ = state_.chunks;
    opened_forgotten_before_ = state_.forgotten_before;
    opened_counters_ = state_.counters;
    return absl::OkStatus();
  }

  absl::Status PrepareStatements() {
    BANDANA_ASSIGN_OR_RETURN(begin_, writer_.Prepare("BEGIN IMMEDIATE"));
    BANDANA_ASSIGN_OR_RETURN(commit_, writer_.Prepare("COMMIT"));
    BANDANA_ASSIGN_OR_RETURN(insert_log_, writer_.Prepare("INSERT INTO log VALUES(?, ?, ?)"));
    BANDANA_ASSIGN_OR_RETURN(insert_id_, writer_.Prepare("INSERT INTO ids VALUES(?, ?, ?, ?, ?)"));
    BANDANA_ASSIGN_OR_RETURN(delete_ids_, writer_.Prepare("DELETE FROM ids WHERE bucket < ?"));
    BANDANA_ASSIGN_OR_RETURN(delete_log_, writer_.Prepare("DELETE FROM log WHERE sequence <= ?"));
    BANDANA_ASSIGN_OR_RETURN(set_state_, writer_.Prepare("UPDATE state SET value = ?"));
    BANDANA_ASSIGN_OR_RETURN(
        read_log_, reader_.Prepare("SELECT sequence, hash, record FROM log"
                                   " WHERE sequence > ? AND sequence <= ? ORDER BY sequence"));
    return version_ == kSchemaVersion ? PrepareLater() : absl::OkStatus();
  }
  // Prepares the statements for tables that former versions do not have.
  absl::Status PrepareLater() {
    BANDANA_RETURN_IF_ERROR(PrepareCells());
    return PrepareChunks();
  }
  absl::Status PrepareChunks() {
    BANDANA_ASSIGN_OR_RETURN(
        put_chunk_,
        writer_.Prepare(
            "INSERT INTO chunks VALUES(?1, ?2, ?3, ?4, ?5)"
            " ON CONFLICT DO UPDATE SET newest = excluded.newest, bits = excluded.bits"));
    BANDANA_ASSIGN_OR_RETURN(
        has_chunk_,
        writer_.Prepare("SELECT 1 FROM chunks WHERE issuer = ? AND kind = ? AND number = ?"));
    BANDANA_ASSIGN_OR_RETURN(delete_chunks_,
                             writer_.Prepare("DELETE FROM chunks WHERE newest < ?"));
    return absl::OkStatus();
  }
  absl::Status PrepareCells() {
    BANDANA_ASSIGN_OR_RETURN(insert_cell_, writer_.Prepare("INSERT INTO cells VALUES(?, ?)"));
    BANDANA_ASSIGN_OR_RETURN(update_cell_,
                             writer_.Prepare("UPDATE cells SET value = ?2 WHERE slot = ?1"));
    return absl::OkStatus();
  }

  // A file of a former version becomes one of this version with its first change: until then the
  // version that wrote it can open it, should its model be refused.
  absl::Status MakeCurrent() {
    if (version_ == kSchemaVersion) return absl::OkStatus();
    absl::Status made = version_ < kCellsSince ? writer_.Exec(kFromVersion2) : absl::OkStatus();
    if (made.ok()) made = writer_.Exec(kFromVersion3);
    if (!made.ok()) {
      if (writer_.InTransaction()) writer_.Exec("ROLLBACK").IgnoreError();
      return made;
    }
    version_ = kSchemaVersion;
    return PrepareLater();
  }

  // Runs `body` and stores `next` in one transaction; `next` is read after `body`, which may change
  // it.
  template <typename Body>
  absl::Status Transaction(LogState& next, const Body& body) {
    BANDANA_ASSIGN_OR_RETURN(const bool finish_checkpoint, checkpointer_->TakeBulkDone());
    if (finish_checkpoint) BANDANA_RETURN_IF_ERROR(CheckpointPass(writer_).status());
    BANDANA_RETURN_IF_ERROR(MakeCurrent());
    BANDANA_RETURN_IF_ERROR(begin_.Run());
    absl::Status done = body();
    if (done.ok()) {
      const std::string value = EncodeLogState(next);
      done = set_state_.Bind(1, value).Run();
    }
    if (done.ok()) done = commit_.Run();  // returns after the sync
    if (!done.ok()) {
      // SQLite may have rolled back by itself; if neither works the connection is of no use and the
      // next BEGIN says so.
      if (writer_.InTransaction()) writer_.Exec("ROLLBACK").IgnoreError();
      return done;
    }
    std::lock_guard lock(state_mutex_);
    state_ = std::move(next);
    return absl::OkStatus();
  }

  void NoteRemains() {
    remains_ = true;
    moved_ = false;
  }

  absl::Status TrimRows(std::uint64_t through, LogState& next) {
    next.trimmed = through;
    return delete_log_.Bind(1, static_cast<std::int64_t>(through)).Run();
  }

  absl::Status AppendRows(const LogBatch& batch, LogState& next) {
    for (const NewRecord& record : batch.records) {
      const std::uint64_t sequence = ++next.last.sequence;
      next.last.hash = ChainHash(next.last.hash, record.bytes);
      const auto row = static_cast<std::int64_t>(sequence);
      BANDANA_RETURN_IF_ERROR(insert_log_.Bind(1, row)
                                  .Bind(2, std::span<const std::byte>(next.last.hash))
                                  .Bind(3, record.bytes)
                                  .Run());
      for (const RememberedId& id : record.ids) {
        ++next.ids;
        BANDANA_RETURN_IF_ERROR(insert_id_.Bind(1, id.bucket)
                                    .Bind(2, row)
                                    .Bind(3, std::int64_t{id.kind})
                                    .Bind(4, std::span<const std::byte>(id.id))
                                    .Bind(5, IdCheck(id, sequence))
                                    .Run());
      }
    }
    for (const Cell& cell : batch.cells) BANDANA_RETURN_IF_ERROR(WriteCell(cell, next));
    for (const IdChunk& chunk : batch.chunks) BANDANA_RETURN_IF_ERROR(WriteChunk(chunk, next));
    if (batch.forget_before && *batch.forget_before > next.forgotten_before) {
      BANDANA_RETURN_IF_ERROR(delete_ids_.Bind(1, *batch.forget_before).Run());
      next.ids -= static_cast<std::uint64_t>(writer_.Changes());
      BANDANA_RETURN_IF_ERROR(delete_chunks_.Bind(1, *batch.forget_before).Run());
      next.chunks -= static_cast<std::uint64_t>(writer_.Changes());
      next.forgotten_before = *batch.forget_before;
    }
    return absl::OkStatus();
  }

  absl::Status WriteChunk(const IdChunk& chunk, LogState& next) {
    const auto issuer = static_cast<std::int64_t>(chunk.issuer);
    const auto number = static_cast<std::int64_t>(chunk.number);
    has_chunk_.Bind(1, issuer).Bind(2, std::int64_t{chunk.kind}).Bind(3, number);
    const absl::StatusOr<bool> known = has_chunk_.Step();
    has_chunk_.Reset();
    BANDANA_RETURN_IF_ERROR(known.status());
    if (!*known) ++next.chunks;
    const std::string row = EncodeChunk(chunk);
    return put_chunk_.Bind(1, issuer)
        .Bind(2, std::int64_t{chunk.kind})
        .Bind(3, number)
        .Bind(4, chunk.newest)
        .Bind(5, row)
        .Run();
  }

  absl::Status WriteCell(const Cell& cell, LogState& next) {
    if (cell.slot > next.cells) return Internal("cell ", cell.slot, " of ", next.cells);
    const std::string row = EncodeCell(cell);
    const bool fresh = cell.slot == next.cells;
    SqliteStatement& write = fresh ? insert_cell_ : update_cell_;
    BANDANA_RETURN_IF_ERROR(write.Bind(1, static_cast<std::int64_t>(cell.slot)).Bind(2, row).Run());
    if (fresh) {
      ++next.cells;
    } else if (writer_.Changes() != 1) {
      return DataLoss("cell ", cell.slot, " of the log is missing");
    }
    return absl::OkStatus();
  }

  absl::Status ReadRows(const LogPosition& after, std::uint64_t through,
                        std::vector<LogEntry>& out) const {
    LogPosition at = after;
    while (at.sequence < through) {
      BANDANA_ASSIGN_OR_RETURN(const bool row, read_log_.Step());
      ++at.sequence;
      if (!row || static_cast<std::uint64_t>(read_log_.Int(0)) != at.sequence) {
        return DataLoss("log entry ", at.sequence, " is missing");
      }
      const std::string_view record = read_log_.Blob(2);
      at.hash = ChainHash(at.hash, record);
      if (read_log_.Blob(1) != AsChars(at.hash)) {
        return DataLoss("log entry ", at.sequence, " does not continue the running hash");
      }
      out.push_back({at, std::string(record)});
    }
    // The last entry's hash stands a second time in the state row.
    const LogPosition end = last();
    if (at.sequence == end.sequence && at != end) {
      return DataLoss("log entry ", at.sequence, " differs from the log's stored end");
    }
    return absl::OkStatus();
  }

  SqliteConnection writer_;
  mutable SqliteConnection reader_;
  mutable std::mutex reader_mutex_;
  mutable std::mutex state_mutex_;  // for readers; the appending thread alone changes state_
  LogState state_;
  std::int64_t version_ = 0;  // of the tables
  bool erases_ = false;
  bool remains_ = false;  // of trimmed entries
  bool erase_wanted_ = false;
  bool moved_ = false;  // what is left, to fresh pages
  std::uint64_t opened_ids_ = 0;
  std::uint64_t opened_cells_ = 0;
  std::uint64_t opened_chunks_ = 0;
  std::int64_t opened_forgotten_before_ = INT64_MIN;
  std::string opened_counters_;
  SqliteStatement begin_, commit_, insert_log_, insert_id_, insert_cell_, update_cell_;
  SqliteStatement put_chunk_, has_chunk_, delete_chunks_;
  SqliteStatement delete_ids_, delete_log_, set_state_;
  mutable SqliteStatement read_log_;
  std::unique_ptr<WalCheckpointer> checkpointer_;
};

}  // namespace

absl::Status RemoveSqliteLog(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm"}) {
    BANDANA_RETURN_IF_ERROR(RemoveFile(path + suffix).status());
  }
  return absl::OkStatus();
}

absl::Status CreateSqliteLog(const SqliteLogOptions& options, const LogPosition& start) {
  BANDANA_RETURN_IF_ERROR(RemoveSqliteLog(options.path));
  BANDANA_ASSIGN_OR_RETURN(SqliteConnection connection, OpenSqlite(options.path, options.vfs));
  BANDANA_RETURN_IF_ERROR(connection.Exec("BEGIN IMMEDIATE"));
  BANDANA_RETURN_IF_ERROR(connection.Exec(kSchema));
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement insert,
                           connection.Prepare("INSERT INTO state VALUES(1, ?)"));
  const std::string value = EncodeLogState({.last = start, .trimmed = start.sequence});
  BANDANA_RETURN_IF_ERROR(insert.Bind(1, value).Run());
  return connection.Exec("COMMIT");
}

absl::StatusOr<std::unique_ptr<UpdateLog>> OpenSqliteLog(const SqliteLogOptions& options) {
  std::error_code error;
  if (!std::filesystem::exists(options.path, error)) {
    return DataLoss(options.path, " is missing");
  }
  auto log = std::make_unique<SqliteLog>();
  BANDANA_RETURN_IF_ERROR(Annotate(log->Open(options), options.path));
  return log;
}

}  // namespace bandana::server

#include "server/service/decisions/answer_store.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "common/base/status.h"
#include "server/log/sqlite.h"
#include "server/log/wal_check.h"
#include "server/service/decisions/answer_rows.h"

namespace bandana::server {
namespace {

constexpr std::int64_t kAnswersVersion = 2;
constexpr std::int64_t kVersionInClear = 1;
constexpr char kTables[] =
    "PRAGMA user_version = 2;"
    "CREATE TABLE sealed_answers(number INTEGER PRIMARY KEY, key INTEGER NOT NULL, "
    "answer BLOB NOT NULL);";
constexpr char kPut[] = "INSERT OR REPLACE INTO sealed_answers VALUES(?, ?, ?)";

absl::Status Put(SqliteStatement& put, const SealedRow& row) {
  return put.Bind(1, row.number)
      .Bind(2, std::int64_t{row.key})
      .Bind(3, std::string_view(row.bytes))
      .Run();
}

absl::StatusOr<std::int64_t> VersionOf(SqliteConnection& connection) {
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement version, connection.Prepare("PRAGMA user_version"));
  BANDANA_ASSIGN_OR_RETURN(const bool row, version.Step());
  return row ? version.Int(0) : -1;
}

}  // namespace

std::size_t AnswerStore::DigestHash::operator()(const Sha256Digest& digest) const {
  std::size_t hash = 0;
  std::memcpy(&hash, digest.data(), sizeof hash);
  return hash;
}

absl::StatusOr<AnswerStore> AnswerStore::Open(const std::string& path, const AnswerKeys& keys) {
  BANDANA_RETURN_IF_ERROR(CheckWal(path + "-wal"));
  BANDANA_ASSIGN_OR_RETURN(SqliteConnection connection, OpenSqlite(path, ""));
  BANDANA_RETURN_IF_ERROR(connection.Exec("PRAGMA wal_autocheckpoint = 1000;"));
  AnswerStore store(std::move(connection), keys);
  BANDANA_ASSIGN_OR_RETURN(const std::int64_t found, VersionOf(store.connection_));
  if (found == 0) {
    BANDANA_RETURN_IF_ERROR(store.Transaction([&] { return store.connection_.Exec(kTables); }));
  } else if (found == kVersionInClear) {
    BANDANA_RETURN_IF_ERROR(store.Transaction([&] { return store.SealFormerRows(); }));
    BANDANA_RETURN_IF_ERROR(store.connection_.Exec("PRAGMA wal_checkpoint(TRUNCATE)"));
  } else if (found != kAnswersVersion) {
    return DataLoss("tables of unknown version ", found);
  }
  return store;
}

absl::Status AnswerStore::SealFormerRows() {
  BANDANA_RETURN_IF_ERROR(connection_.Exec(kTables));
  {
    BANDANA_ASSIGN_OR_RETURN(SqliteStatement put, connection_.Prepare(kPut));
    BANDANA_ASSIGN_OR_RETURN(SqliteStatement rows,
                             connection_.Prepare("SELECT name, answer FROM answers"));
    for (std::int64_t number = 1;; ++number) {
      BANDANA_ASSIGN_OR_RETURN(const bool found, rows.Step());
      if (!found) break;
      BANDANA_ASSIGN_OR_RETURN(const OpenRow row, ReadFormerRow(rows.Blob(0), rows.Blob(1)));
      BANDANA_ASSIGN_OR_RETURN(const SealedRow sealed,
                               SealRow(*keys_, number, row.first, row.second));
      BANDANA_RETURN_IF_ERROR(Put(put, sealed));
    }
  }
  return connection_.Exec("DROP TABLE answers");
}

absl::Status AnswerStore::ForEach(const Row& row) {
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement rows,
                           connection_.Prepare("SELECT number, key, answer FROM sealed_answers"));
  for (;;) {
    BANDANA_ASSIGN_OR_RETURN(const bool found, rows.Step());
    if (!found) return absl::OkStatus();
    const std::int64_t number = rows.Int(0);
    next_ = std::max(next_, number + 1);
    BANDANA_ASSIGN_OR_RETURN(std::optional<OpenRow> open,
                             OpenSealedRow(*keys_, {.number = number,
                                                    .key = static_cast<std::uint32_t>(rows.Int(1)),
                                                    .bytes = std::string(rows.Blob(2))}));
    if (!open) {
      lost_.push_back(number);
      continue;
    }
    if (!numbers_.emplace(open->first, number).second) {
      return DataLoss("a named decision is there twice");
    }
    row(open->first, std::move(open->second));
  }
}

absl::Status AnswerStore::Write(const std::vector<AnswerChange>& changes, RowNumbers& added) {
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement put, connection_.Prepare(kPut));
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement remove,
                           connection_.Prepare("DELETE FROM sealed_answers WHERE number = ?"));
  for (const std::int64_t number : lost_) BANDANA_RETURN_IF_ERROR(remove.Bind(1, number).Run());
  for (const AnswerChange& change : changes) {
    const auto known = numbers_.find(change.key);
    if (change.answer) {
      const std::int64_t number = known == numbers_.end() ? next_++ : known->second;
      BANDANA_ASSIGN_OR_RETURN(const SealedRow row,
                               SealRow(*keys_, number, change.key, *change.answer));
      BANDANA_RETURN_IF_ERROR(Put(put, row));
      added.emplace(change.key, number);
    } else if (known != numbers_.end()) {
      BANDANA_RETURN_IF_ERROR(remove.Bind(1, known->second).Run());
    }
  }
  return absl::OkStatus();
}

absl::Status AnswerStore::Transaction(const std::function<absl::Status()>& write) {
  BANDANA_RETURN_IF_ERROR(connection_.Exec("BEGIN IMMEDIATE"));
  absl::Status done = write();
  if (done.ok()) done = connection_.Exec("COMMIT");
  // A failed rollback shows at the next BEGIN.
  if (!done.ok() && connection_.InTransaction()) connection_.Exec("ROLLBACK").IgnoreError();
  return done;
}

absl::Status AnswerStore::Apply(const std::vector<AnswerChange>& changes, bool erase) {
  RowNumbers added;
  BANDANA_RETURN_IF_ERROR(Transaction([&] { return Write(changes, added); }));
  lost_.clear();
  for (const AnswerChange& change : changes) {
    if (!change.answer) numbers_.erase(change.key);
  }
  numbers_.merge(added);
  return erase ? connection_.Exec("PRAGMA wal_checkpoint(TRUNCATE)") : absl::OkStatus();
}

}  // namespace bandana::server

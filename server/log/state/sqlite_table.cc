#include "server/log/state/sqlite_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/bytes.h"
#include "common/base/status.h"
#include "server/log/wal_check.h"

namespace bandana::server {
namespace {

// The statements of a kind. Its first version has format 1.
struct Sql {
  std::string_view file;
  std::string_view rows;  // what they are, for messages
  int format_max;
  bool numbers;  // keys are integers there
  const char* schema;
  // Pages that were split may keep copies of deleted rows in their gaps.
  const char* to_fresh_pages;
  const char* all;
  const char* after;
  const char* one;
  const char* add;
  const char* replace;
  const char* remove;
  const char* state;
  const char* put_state;
};

// Since format 2 an arm may have groups. A file without them stays of format 1, which former
// versions of the program read.
constexpr Sql kArmsSql = {
    .file = "arms.sqlite",
    .rows = "arms",
    .format_max = 4,
    .numbers = true,
    .schema =
        "BEGIN IMMEDIATE; PRAGMA user_version = 1;"
        "CREATE TABLE arms(id INTEGER PRIMARY KEY, arm BLOB NOT NULL);"
        // One row: number of arms, and the digest of the arms file they came from.
        "CREATE TABLE state(row INTEGER PRIMARY KEY CHECK (row = 1), arms INTEGER NOT NULL,"
        " file BLOB NOT NULL);"
        "INSERT INTO state VALUES(1, 0, zeroblob(32)); COMMIT;",
    .to_fresh_pages =
        "CREATE TABLE fresh(id INTEGER PRIMARY KEY, arm BLOB NOT NULL);"
        "INSERT INTO fresh SELECT id, arm FROM arms;"
        "DROP TABLE arms;"
        "ALTER TABLE fresh RENAME TO arms;",
    .all = "SELECT id, arm FROM arms ORDER BY id",
    .after = "SELECT id, arm FROM arms WHERE id > ? ORDER BY id LIMIT ?",
    .one = "SELECT id, arm FROM arms WHERE id = ?",
    .add = "INSERT OR IGNORE INTO arms VALUES(?, ?)",
    .replace = "UPDATE arms SET arm = ?2 WHERE id = ?1",
    .remove = "DELETE FROM arms WHERE id = ?",
    .state = "SELECT arms, file FROM state",
    .put_state = "UPDATE state SET arms = ?, file = ?",
};

constexpr Sql kUsersSql = {
    .file = "users.sqlite",
    .rows = "users",
    .format_max = 1,
    .numbers = false,
    .schema =
        "BEGIN IMMEDIATE; PRAGMA user_version = 1;"
        "CREATE TABLE users(id BLOB PRIMARY KEY, cells BLOB NOT NULL) WITHOUT ROWID;"
        // One row: number of users, and the digest of the users file that they came from.
        "CREATE TABLE state(row INTEGER PRIMARY KEY CHECK (row = 1), users INTEGER NOT NULL,"
        " file BLOB NOT NULL);"
        "INSERT INTO state VALUES(1, 0, zeroblob(32)); COMMIT;",
    .to_fresh_pages =
        "CREATE TABLE fresh(id BLOB PRIMARY KEY, cells BLOB NOT NULL) WITHOUT ROWID;"
        "INSERT INTO fresh SELECT id, cells FROM users;"
        "DROP TABLE users;"
        "ALTER TABLE fresh RENAME TO users;",
    .all = "SELECT id, cells FROM users ORDER BY id",
    .after = "SELECT id, cells FROM users WHERE id > ? ORDER BY id LIMIT ?",
    .one = "SELECT id, cells FROM users WHERE id = ?",
    .add = "INSERT OR IGNORE INTO users VALUES(?, ?)",
    .replace = "UPDATE users SET cells = ?2 WHERE id = ?1",
    .remove = "DELETE FROM users WHERE id = ?",
    .state = "SELECT users, file FROM state",
    .put_state = "UPDATE state SET users = ?, file = ?",
};

const Sql& SqlOf(TableKind kind) { return kind == TableKind::kArms ? kArmsSql : kUsersSql; }

std::string KeyOfNumber(std::int64_t number) {
  std::string key;
  for (int shift = 24; shift >= 0; shift -= 8) key.push_back(static_cast<char>(number >> shift));
  return key;
}

std::int64_t NumberOfKey(std::string_view key) {
  std::int64_t number = 0;
  for (const char c : key) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}

class SqliteTable final : public RowTable {
 public:
  SqliteTable(const Sql& sql, SqliteConnection connection)
      : sql_(sql), connection_(std::move(connection)) {}

  absl::Status MakeTables() {
    // Nothing here is hot: the commit that fills the write-ahead file may also empty it.
    BANDANA_RETURN_IF_ERROR(
        connection_.Exec("PRAGMA wal_autocheckpoint = 1000; PRAGMA wal_checkpoint(TRUNCATE);"));
    BANDANA_ASSIGN_OR_RETURN(std::int64_t found, Format());
    if (found == 0) {
      BANDANA_RETURN_IF_ERROR(connection_.Exec(sql_.schema));
      found = 1;
    }
    if (found > sql_.format_max || found < 0) {
      return DataLoss("tables of unknown version ", found);
    }
    format_ = static_cast<int>(found);
    return ReadState();
  }

  absl::Status ReadState() {
    BANDANA_ASSIGN_OR_RETURN(SqliteStatement state, connection_.Prepare(sql_.state));
    BANDANA_ASSIGN_OR_RETURN(const bool has_state, state.Step());
    if (!has_state || state.Blob(1).size() != file_.size()) return DataLoss("state is missing");
    size_ = static_cast<std::uint64_t>(state.Int(0));
    std::memcpy(file_.data(), state.Blob(1).data(), file_.size());
    return absl::OkStatus();
  }

  absl::Status ForEach(RowVisit visit) override {
    BANDANA_ASSIGN_OR_RETURN(SqliteStatement rows, connection_.Prepare(sql_.all));
    std::uint64_t count = 0;
    BANDANA_RETURN_IF_ERROR(ForRows(rows, visit, count));
    if (count == size_) return absl::OkStatus();
    return DataLoss(count, " ", ToAbsl(sql_.rows), " found, another number stored");
  }
  absl::Status ForEachAfter(std::string_view after, std::size_t limit, RowVisit visit) override {
    BANDANA_ASSIGN_OR_RETURN(SqliteStatement rows, connection_.Prepare(sql_.after));
    BindKey(rows, after).Bind(2, static_cast<std::int64_t>(limit));
    std::uint64_t count = 0;
    return ForRows(rows, visit, count);
  }
  absl::Status ForOne(std::string_view key, RowVisit visit) override {
    BANDANA_ASSIGN_OR_RETURN(SqliteStatement rows, connection_.Prepare(sql_.one));
    BindKey(rows, key);
    std::uint64_t count = 0;
    return ForRows(rows, visit, count);
  }

  std::uint64_t size() const override { return size_; }
  const Sha256Digest& file() const override { return file_; }
  int format() const override { return format_; }

  absl::StatusOr<RowsChanged> Change(const RowChange& change) override {
    const Sha256Digest file = change.file.value_or(file_);
    const int format = std::max(format_, change.format);
    RowsChanged changed;
    BANDANA_RETURN_IF_ERROR(InTransaction([&]() -> absl::Status {
      if (format > format_) {
        BANDANA_RETURN_IF_ERROR(
            connection_.Exec(absl::StrCat("PRAGMA user_version = ", format).c_str()));
      }
      if (change.put) {
        BANDANA_ASSIGN_OR_RETURN(changed.added, PutRows(*change.put));
      }
      BANDANA_ASSIGN_OR_RETURN(changed.removed, RemoveRows(change.removed));
      if (change.erase) BANDANA_RETURN_IF_ERROR(connection_.Exec(sql_.to_fresh_pages));
      BANDANA_RETURN_IF_ERROR(NoteKeys(connection_, change.keys));
      return PutState(size_ + changed.added - changed.removed, file);
    }));
    size_ += changed.added - changed.removed;
    file_ = file;
    format_ = format;
    ++version_;
    return changed;
  }

  absl::StatusOr<std::vector<LeftKey>> LeftKeys(absl::Time until, std::size_t max) override {
    const auto limit = static_cast<std::int64_t>(std::min<std::size_t>(max, INT64_MAX));
    return ReadLeftKeys(connection_, absl::ToUnixNanos(until), limit);
  }
  absl::StatusOr<std::optional<absl::Time>> FirstLeft() override {
    BANDANA_ASSIGN_OR_RETURN(const std::vector<LeftKey> first,
                             ReadLeftKeys(connection_, INT64_MAX, 1));
    return first.empty() ? std::nullopt : std::optional(first.front().since);
  }
  absl::Status RemoveLeft(std::span<const std::uint64_t> keys, absl::Time until) override {
    return InTransaction(
        [&] { return RemoveLeftKeys(connection_, keys, absl::ToUnixNanos(until)); });
  }

  std::int64_t version() const override { return version_; }
  absl::StatusOr<RowsSince> ChangesSince(std::int64_t /*version*/, RowVisit visit) override {
    BANDANA_ASSIGN_OR_RETURN(const std::int64_t format, Format());
    format_ = static_cast<int>(format);
    BANDANA_RETURN_IF_ERROR(ReadState());
    BANDANA_RETURN_IF_ERROR(ForEach(visit));
    return RowsSince{.version = version_, .whole = true};
  }

 private:
  absl::StatusOr<std::int64_t> Format() {
    BANDANA_ASSIGN_OR_RETURN(SqliteStatement format, connection_.Prepare("PRAGMA user_version"));
    BANDANA_ASSIGN_OR_RETURN(const bool row, format.Step());
    return row ? format.Int(0) : -1;
  }

  SqliteStatement& BindKey(SqliteStatement& statement, std::string_view key) const {
    return sql_.numbers ? statement.Bind(1, NumberOfKey(key)) : statement.Bind(1, key);
  }

  absl::Status ForRows(SqliteStatement& rows, RowVisit visit, std::uint64_t& count) const {
    for (;; ++count) {
      BANDANA_ASSIGN_OR_RETURN(const bool row, rows.Step());
      if (!row) return absl::OkStatus();
      BANDANA_RETURN_IF_ERROR(sql_.numbers ? visit(KeyOfNumber(rows.Int(0)), rows.Blob(1))
                                           : visit(rows.Blob(0), rows.Blob(1)));
    }
  }

  absl::StatusOr<std::uint64_t> PutRows(RowSource source) {
    BANDANA_ASSIGN_OR_RETURN(SqliteStatement add, connection_.Prepare(sql_.add));
    BANDANA_ASSIGN_OR_RETURN(SqliteStatement replace, connection_.Prepare(sql_.replace));
    std::uint64_t added = 0;
    BANDANA_RETURN_IF_ERROR(
        source([&](std::string_view key, std::string_view value) -> absl::Status {
          BANDANA_RETURN_IF_ERROR(BindKey(add, key).Bind(2, value).Run());
          if (connection_.Changes() == 0) return BindKey(replace, key).Bind(2, value).Run();
          ++added;
          return absl::OkStatus();
        }));
    return added;
  }

  absl::StatusOr<std::uint64_t> RemoveRows(std::span<const std::string_view> keys) {
    if (keys.empty()) return 0;
    BANDANA_ASSIGN_OR_RETURN(SqliteStatement remove, connection_.Prepare(sql_.remove));
    std::uint64_t removed = 0;
    for (const std::string_view key : keys) {
      BANDANA_RETURN_IF_ERROR(BindKey(remove, key).Run());
      removed += static_cast<std::uint64_t>(connection_.Changes());
    }
    return removed;
  }

  absl::Status PutState(std::uint64_t size, const Sha256Digest& file) {
    BANDANA_ASSIGN_OR_RETURN(SqliteStatement state, connection_.Prepare(sql_.put_state));
    return state.Bind(1, static_cast<std::int64_t>(size))
        .Bind(2, std::span<const std::byte>(file))
        .Run();
  }

  template <typename Body>
  absl::Status InTransaction(const Body& body) {
    BANDANA_RETURN_IF_ERROR(connection_.Exec("BEGIN IMMEDIATE"));
    absl::Status done = body();
    if (done.ok()) done = connection_.Exec("COMMIT");
    // A failed rollback shows at the next BEGIN.
    if (!done.ok() && connection_.InTransaction()) connection_.Exec("ROLLBACK").IgnoreError();
    if (!done.ok()) return done;
    // A damaged last transaction of a write-ahead file looks like a torn one: none shall stand
    // there. Where this fails, it is made good at the next one or at the next start.
    connection_.Exec("PRAGMA wal_checkpoint(TRUNCATE)").IgnoreError();
    return absl::OkStatus();
  }

  const Sql& sql_;
  SqliteConnection connection_;
  std::uint64_t size_ = 0;
  Sha256Digest file_{};
  int format_ = 1;
  std::int64_t version_ = 0;
};

}  // namespace

std::string_view SqliteTableFile(TableKind kind) { return SqlOf(kind).file; }

absl::StatusOr<std::unique_ptr<RowTable>> OpenSqliteTable(TableKind kind, const std::string& path) {
  BANDANA_RETURN_IF_ERROR(CheckWal(path + "-wal"));
  BANDANA_ASSIGN_OR_RETURN(SqliteConnection connection, OpenSqlite(path, ""));
  auto table = std::make_unique<SqliteTable>(SqlOf(kind), std::move(connection));
  const absl::Status ready = table->MakeTables();
  if (!ready.ok()) return Annotate(ready, path);
  return table;
}

}  // namespace bandana::server

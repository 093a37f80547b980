#include "server/models/users/user_store.h"

#include <cstring>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "server/log/wal_check.h"

namespace bandana::server {
namespace {

constexpr char kSchema[] =
    "BEGIN IMMEDIATE; PRAGMA user_version = 1;"
    "CREATE TABLE users(id BLOB PRIMARY KEY, cells BLOB NOT NULL) WITHOUT ROWID;"
    // One row: number of users, and the digest of the users file that they came from.
    "CREATE TABLE state(row INTEGER PRIMARY KEY CHECK (row = 1), users INTEGER NOT NULL,"
    " file BLOB NOT NULL);"
    "INSERT INTO state VALUES(1, 0, zeroblob(32)); COMMIT;";

// Pages that were split may keep copies of deleted rows in their gaps.
constexpr char kToFreshPages[] =
    "CREATE TABLE fresh(id BLOB PRIMARY KEY, cells BLOB NOT NULL) WITHOUT ROWID;"
    "INSERT INTO fresh SELECT id, cells FROM users;"
    "DROP TABLE users;"
    "ALTER TABLE fresh RENAME TO users;";

constexpr std::size_t kCheckBytes = 8;

// The first bytes of SHA-256 over id and values.
std::span<const std::byte, kCheckBytes> CheckOf(std::string_view id, std::string_view values,
                                                Sha256Digest& digest) {
  std::string length;
  ByteWriter(length).U64(id.size());
  digest = Sha256().Update(length).Update(id).Update(values).Finish();
  return std::span(digest).first<kCheckBytes>();
}

// Each value with its length, then the check.
std::string EncodeCells(std::string_view id, std::span<const std::string_view> values) {
  std::string bytes;
  ByteWriter out(bytes);
  for (const std::string_view value : values) {
    out.U8(static_cast<std::uint8_t>(value.size()));
    out.Fixed(AsBytes(value));
  }
  Sha256Digest digest;
  out.Fixed(CheckOf(id, bytes, digest));
  return bytes;
}

// False: damaged.
bool DecodeCells(std::string_view id, std::string_view bytes,
                 std::vector<std::string_view>& values) {
  if (bytes.size() < kCheckBytes) return false;
  const std::string_view body = bytes.substr(0, bytes.size() - kCheckBytes);
  Sha256Digest digest;
  if (std::memcmp(CheckOf(id, body, digest).data(), bytes.data() + body.size(), kCheckBytes) != 0) {
    return false;
  }
  values.clear();
  ByteReader in(body);
  while (in.remaining() > 0) values.push_back(in.Take(in.U8()));
  return in.ok();
}

}  // namespace

absl::StatusOr<UserStore> UserStore::Open(const std::string& path) {
  BANDANA_RETURN_IF_ERROR(CheckWal(path + "-wal"));
  BANDANA_ASSIGN_OR_RETURN(SqliteConnection connection, OpenSqlite(path, ""));
  UserStore store(std::move(connection));
  const absl::Status ready = store.MakeTables();
  if (!ready.ok()) return Annotate(ready, path);
  return store;
}

absl::Status UserStore::MakeTables() {
  // Nothing here is hot: the commit that fills the write-ahead file may also empty it.
  BANDANA_RETURN_IF_ERROR(
      connection_.Exec("PRAGMA wal_autocheckpoint = 1000; PRAGMA wal_checkpoint(TRUNCATE);"));
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement version, connection_.Prepare("PRAGMA user_version"));
  BANDANA_ASSIGN_OR_RETURN(const bool row, version.Step());
  const std::int64_t found = row ? version.Int(0) : -1;
  version.Reset();
  if (found == 0) BANDANA_RETURN_IF_ERROR(connection_.Exec(kSchema));
  if (found > 1 || found < 0) return DataLoss("tables of unknown version ", found);
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement state,
                           connection_.Prepare("SELECT users, file FROM state"));
  BANDANA_ASSIGN_OR_RETURN(const bool has_state, state.Step());
  if (!has_state || state.Blob(1).size() != file_.size()) return DataLoss("state is missing");
  size_ = static_cast<std::uint64_t>(state.Int(0));
  std::memcpy(file_.data(), state.Blob(1).data(), file_.size());
  return absl::OkStatus();
}

absl::Status UserStore::ForEach(Take take) {
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement rows,
                           connection_.Prepare("SELECT id, cells FROM users ORDER BY id"));
  std::vector<std::string_view> values;
  std::uint64_t count = 0;
  for (;; ++count) {
    BANDANA_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) break;
    const std::string_view id = rows.Blob(0);
    if (!DecodeCells(id, rows.Blob(1), values)) {
      return DataLoss("user at position ", count, ": wrong content");
    }
    BANDANA_RETURN_IF_ERROR(take(id, values));
  }
  if (count == size_) return absl::OkStatus();
  return DataLoss(count, " users found, another number stored");
}

absl::Status UserStore::ForRows(SqliteStatement& rows, Take take) {
  std::vector<std::string_view> values;
  for (;;) {
    BANDANA_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return absl::OkStatus();
    const std::string_view id = rows.Blob(0);
    if (!DecodeCells(id, rows.Blob(1), values)) return DataLoss("a user has wrong content");
    BANDANA_RETURN_IF_ERROR(take(id, values));
  }
}

absl::Status UserStore::ForEachAfter(std::string_view after, std::size_t limit, Take take) {
  BANDANA_ASSIGN_OR_RETURN(
      SqliteStatement rows,
      connection_.Prepare("SELECT id, cells FROM users WHERE id > ? ORDER BY id LIMIT ?"));
  rows.Bind(1, after).Bind(2, static_cast<std::int64_t>(limit));
  return ForRows(rows, take);
}

absl::Status UserStore::ForOne(std::string_view id, Take take) {
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement rows,
                           connection_.Prepare("SELECT id, cells FROM users WHERE id = ?"));
  rows.Bind(1, id);
  return ForRows(rows, take);
}

absl::StatusOr<std::int64_t> UserStore::RemoveRows(std::span<const std::string_view> ids) {
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement remove,
                           connection_.Prepare("DELETE FROM users WHERE id = ?"));
  std::int64_t more = 0;
  for (const std::string_view id : ids) {
    BANDANA_RETURN_IF_ERROR(remove.Bind(1, id).Run());
    more -= connection_.Changes();
  }
  remove = SqliteStatement();
  BANDANA_RETURN_IF_ERROR(connection_.Exec(kToFreshPages));
  return more;
}

absl::StatusOr<std::int64_t> UserStore::PutRows(Source source) {
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement add,
                           connection_.Prepare("INSERT OR IGNORE INTO users VALUES(?, ?)"));
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement replace,
                           connection_.Prepare("UPDATE users SET cells = ?2 WHERE id = ?1"));
  std::int64_t added = 0;
  BANDANA_RETURN_IF_ERROR(source([&](std::string_view id, auto values) -> absl::Status {
    const std::string cells = EncodeCells(id, values);
    BANDANA_RETURN_IF_ERROR(add.Bind(1, id).Bind(2, cells).Run());
    if (connection_.Changes() == 0) return replace.Bind(1, id).Bind(2, cells).Run();
    ++added;
    return absl::OkStatus();
  }));
  return added;
}

absl::Status UserStore::PutState(std::uint64_t size, const Sha256Digest& file) {
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement state,
                           connection_.Prepare("UPDATE state SET users = ?, file = ?"));
  return state.Bind(1, static_cast<std::int64_t>(size))
      .Bind(2, std::span<const std::byte>(file))
      .Run();
}

template <typename Body>
absl::StatusOr<std::int64_t> UserStore::Transaction(const Sha256Digest& file, const KeyChange& keys,
                                                    const Body& body) {
  BANDANA_RETURN_IF_ERROR(connection_.Exec("BEGIN IMMEDIATE"));
  absl::StatusOr<std::int64_t> more = body();
  absl::Status done = more.status();
  if (done.ok()) done = NoteKeys(connection_, keys);
  if (done.ok()) done = PutState(size_ + static_cast<std::uint64_t>(*more), file);
  if (done.ok()) done = connection_.Exec("COMMIT");
  // A failed rollback shows at the next BEGIN.
  if (!done.ok() && connection_.InTransaction()) connection_.Exec("ROLLBACK").IgnoreError();
  if (!done.ok()) return done;
  size_ += static_cast<std::uint64_t>(*more);
  file_ = file;
  // A damaged last transaction of a write-ahead file looks like a torn one: none shall stand there.
  // Where this fails, it is made good at the next one or at the next start.
  connection_.Exec("PRAGMA wal_checkpoint(TRUNCATE)").IgnoreError();
  return more;
}

absl::StatusOr<std::uint64_t> UserStore::Put(Source source, const Sha256Digest& file,
                                             const KeyChange& keys) {
  BANDANA_ASSIGN_OR_RETURN(const std::int64_t added,
                           Transaction(file, keys, [&] { return PutRows(source); }));
  return static_cast<std::uint64_t>(added);
}

absl::StatusOr<std::uint64_t> UserStore::Remove(std::span<const std::string_view> ids,
                                                const KeyChange& keys) {
  BANDANA_ASSIGN_OR_RETURN(const std::int64_t more,
                           Transaction(file_, keys, [&] { return RemoveRows(ids); }));
  return static_cast<std::uint64_t>(-more);
}

}  // namespace bandana::server

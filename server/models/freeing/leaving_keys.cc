#include "server/models/freeing/leaving_keys.h"

#include <cstring>
#include <string>

#include "common/base/bytes.h"
#include "common/base/sha256.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr char kTable[] =
    "CREATE TABLE IF NOT EXISTS left_keys(key INTEGER PRIMARY KEY, since INTEGER NOT NULL,"
    " checked BLOB NOT NULL);"
    "CREATE INDEX IF NOT EXISTS left_keys_since ON left_keys(since);";

constexpr std::size_t kCheckBytes = 8;

// The first bytes of SHA-256 over key and time.
std::string CheckOf(EffectKey key, std::int64_t since) {
  std::string bytes;
  ByteWriter out(bytes);
  out.U64(key);
  out.I64(since);
  const Sha256Digest digest = Sha256Of(bytes);
  return {reinterpret_cast<const char*>(digest.data()), kCheckBytes};
}

std::int64_t ColumnOf(EffectKey key) { return static_cast<std::int64_t>(key); }

absl::StatusOr<bool> HasTable(SqliteConnection& connection) {
  BANDANA_ASSIGN_OR_RETURN(
      SqliteStatement table,
      connection.Prepare(
          "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'left_keys'"));
  return table.Step();
}

absl::Status RemoveKeys(SqliteConnection& connection, std::span<const EffectKey> keys,
                        std::int64_t last) {
  if (keys.empty()) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(
      SqliteStatement remove,
      connection.Prepare("DELETE FROM left_keys WHERE key = ? AND since <= ?"));
  for (const EffectKey key : keys) {
    BANDANA_RETURN_IF_ERROR(remove.Bind(1, ColumnOf(key)).Bind(2, last).Run());
  }
  return absl::OkStatus();
}

template <typename Body>
absl::Status InTransaction(SqliteConnection& connection, const Body& body) {
  BANDANA_RETURN_IF_ERROR(connection.Exec("BEGIN IMMEDIATE"));
  absl::Status done = body();
  if (done.ok()) done = connection.Exec("COMMIT");
  // A failed rollback shows at the next BEGIN.
  if (!done.ok() && connection.InTransaction()) connection.Exec("ROLLBACK").IgnoreError();
  if (!done.ok()) return done;
  // As after every transaction of these files.
  connection.Exec("PRAGMA wal_checkpoint(TRUNCATE)").IgnoreError();
  return absl::OkStatus();
}

}  // namespace

absl::Status NoteKeys(SqliteConnection& connection, const KeyChange& change) {
  if (change.returned.empty() && change.left.empty()) return absl::OkStatus();
  BANDANA_RETURN_IF_ERROR(connection.Exec(kTable));
  BANDANA_RETURN_IF_ERROR(RemoveKeys(connection, change.returned, INT64_MAX));
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement put,
                           connection.Prepare("INSERT OR REPLACE INTO left_keys VALUES(?, ?, ?)"));
  const std::int64_t since = absl::ToUnixNanos(change.now);
  for (const EffectKey key : change.left) {
    const std::string check = CheckOf(key, since);
    BANDANA_RETURN_IF_ERROR(put.Bind(1, ColumnOf(key)).Bind(2, since).Bind(3, check).Run());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<LeftKey>> ReadLeftKeys(SqliteConnection& connection) {
  std::vector<LeftKey> keys;
  BANDANA_ASSIGN_OR_RETURN(const bool has_table, HasTable(connection));
  if (!has_table) return keys;
  BANDANA_ASSIGN_OR_RETURN(
      SqliteStatement rows,
      connection.Prepare("SELECT key, since, checked FROM left_keys ORDER BY since, key"));
  for (;;) {
    BANDANA_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return keys;
    const auto key = static_cast<EffectKey>(rows.Int(0));
    if (rows.Blob(2) != CheckOf(key, rows.Int(1))) {
      return DataLoss("key ", keys.size(), " of those that left: wrong content");
    }
    keys.push_back({.key = key, .since = absl::FromUnixNanos(rows.Int(1))});
  }
}

absl::Status CopyLeftKeys(SqliteConnection& from, SqliteConnection& to) {
  BANDANA_ASSIGN_OR_RETURN(const std::vector<LeftKey> keys, ReadLeftKeys(from));
  return InTransaction(to, [&] {
    absl::Status noted;
    for (std::size_t i = 0; i < keys.size() && noted.ok(); ++i) {
      noted = NoteKeys(to, {.returned = {}, .left = {keys[i].key}, .now = keys[i].since});
    }
    return noted;
  });
}

absl::Status LeavingKeys::Load(const std::function<bool(EffectKey)>& in_use) {
  BANDANA_ASSIGN_OR_RETURN(const std::vector<LeftKey> keys, ReadLeftKeys(connection_));
  std::vector<EffectKey> wrong;
  for (const LeftKey& left : keys) {
    if (in_use(left.key)) wrong.push_back(left.key);
  }
  if (!wrong.empty()) BANDANA_RETURN_IF_ERROR(RemoveUntil(wrong, absl::FromUnixNanos(INT64_MAX)));
  return Update();
}

absl::Status LeavingKeys::Update() {
  BANDANA_ASSIGN_OR_RETURN(const bool has_table, HasTable(connection_));
  if (!has_table) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement first,
                           connection_.Prepare("SELECT min(since) FROM left_keys"));
  BANDANA_ASSIGN_OR_RETURN(const bool row, first.Step());
  const bool none = !row || first.IsNull(0);
  due_ = none ? INT64_MAX : absl::ToUnixNanos(absl::FromUnixNanos(first.Int(0)) + free_after_);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<EffectKey>> LeavingKeys::DueAt(absl::Time now, std::size_t max) {
  const std::lock_guard lock(mutex_);
  std::vector<EffectKey> keys;
  if (due() > now) return keys;
  BANDANA_ASSIGN_OR_RETURN(
      SqliteStatement rows,
      connection_.Prepare(
          "SELECT key FROM left_keys WHERE since <= ? ORDER BY since, key LIMIT ?"));
  rows.Bind(1, absl::ToUnixNanos(now - free_after_)).Bind(2, static_cast<std::int64_t>(max));
  for (;;) {
    BANDANA_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return keys;
    keys.push_back(static_cast<EffectKey>(rows.Int(0)));
  }
}

absl::Status LeavingKeys::Freed(std::span<const EffectKey> keys, absl::Time now) {
  const std::lock_guard lock(mutex_);
  BANDANA_RETURN_IF_ERROR(RemoveUntil(keys, now - free_after_));
  return Update();
}

absl::Status LeavingKeys::RemoveUntil(std::span<const EffectKey> keys, absl::Time last) {
  return InTransaction(connection_,
                       [&] { return RemoveKeys(connection_, keys, absl::ToUnixNanos(last)); });
}

}  // namespace bandana::server

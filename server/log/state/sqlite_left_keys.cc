#include <string>

#include "common/base/bytes.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "server/log/state/sqlite_table.h"

namespace bandana::server {
namespace {

constexpr char kTable[] =
    "CREATE TABLE IF NOT EXISTS left_keys(key INTEGER PRIMARY KEY, since INTEGER NOT NULL,"
    " checked BLOB NOT NULL);"
    "CREATE INDEX IF NOT EXISTS left_keys_since ON left_keys(since);";

constexpr std::size_t kKeyCheckBytes = 8;

// The first bytes of SHA-256 over key and time.
std::string CheckOf(std::uint64_t key, std::int64_t since) {
  std::string bytes;
  ByteWriter out(bytes);
  out.U64(key);
  out.I64(since);
  const Sha256Digest digest = Sha256Of(bytes);
  return {reinterpret_cast<const char*>(digest.data()), kKeyCheckBytes};
}

std::int64_t ColumnOf(std::uint64_t key) { return static_cast<std::int64_t>(key); }

absl::StatusOr<bool> HasTable(SqliteConnection& connection) {
  BANDANA_ASSIGN_OR_RETURN(
      SqliteStatement table,
      connection.Prepare(
          "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'left_keys'"));
  return table.Step();
}

}  // namespace

absl::Status RemoveLeftKeys(SqliteConnection& connection, std::span<const std::uint64_t> keys,
                            std::int64_t until) {
  BANDANA_ASSIGN_OR_RETURN(const bool has_table, HasTable(connection));
  if (keys.empty() || !has_table) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(
      SqliteStatement remove,
      connection.Prepare("DELETE FROM left_keys WHERE key = ? AND since <= ?"));
  for (const std::uint64_t key : keys) {
    BANDANA_RETURN_IF_ERROR(remove.Bind(1, ColumnOf(key)).Bind(2, until).Run());
  }
  return absl::OkStatus();
}

absl::Status NoteKeys(SqliteConnection& connection, const KeyChange& change) {
  if (change.returned.empty() && change.left.empty()) return absl::OkStatus();
  BANDANA_RETURN_IF_ERROR(connection.Exec(kTable));
  BANDANA_RETURN_IF_ERROR(RemoveLeftKeys(connection, change.returned, INT64_MAX));
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement put,
                           connection.Prepare("INSERT OR REPLACE INTO left_keys VALUES(?, ?, ?)"));
  const std::int64_t since = absl::ToUnixNanos(change.now);
  for (const std::uint64_t key : change.left) {
    const std::string check = CheckOf(key, since);
    BANDANA_RETURN_IF_ERROR(put.Bind(1, ColumnOf(key)).Bind(2, since).Bind(3, check).Run());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<LeftKey>> ReadLeftKeys(SqliteConnection& connection, std::int64_t until,
                                                  std::int64_t max) {
  std::vector<LeftKey> keys;
  BANDANA_ASSIGN_OR_RETURN(const bool has_table, HasTable(connection));
  if (!has_table) return keys;
  BANDANA_ASSIGN_OR_RETURN(
      SqliteStatement rows,
      connection.Prepare("SELECT key, since, checked FROM left_keys WHERE since <= ?"
                         " ORDER BY since, key LIMIT ?"));
  rows.Bind(1, until).Bind(2, max);
  for (;;) {
    BANDANA_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return keys;
    const auto key = static_cast<std::uint64_t>(rows.Int(0));
    if (rows.Blob(2) != CheckOf(key, rows.Int(1))) {
      return DataLoss("key ", keys.size(), " of those that left: wrong content");
    }
    keys.push_back({.key = key, .since = absl::FromUnixNanos(rows.Int(1))});
  }
}

}  // namespace bandana::server

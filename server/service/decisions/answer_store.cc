#include "server/service/decisions/answer_store.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "server/log/sqlite.h"
#include "server/log/wal_check.h"

namespace bandana::server {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr char kSchema[] =
    "BEGIN IMMEDIATE; PRAGMA user_version = 1;"
    "CREATE TABLE answers(name BLOB PRIMARY KEY, answer BLOB NOT NULL) WITHOUT ROWID; COMMIT;";

// All fields, and the first 8 bytes of SHA-256 over the name and them.
std::string Encode(const Sha256Digest& key, const NamedAnswer& answer) {
  std::string bytes;
  ByteWriter out(bytes);
  out.Fixed(answer.content);
  out.I64(absl::ToUnixMicros(answer.until));
  out.Block(answer.maker);
  out.Fixed(answer.instance);
  out.Fixed(answer.user);
  out.Block(answer.answer);
  const Sha256Digest check = Sha256Of(std::string(AsChars(key)) + bytes);
  out.Fixed(std::span(check).first(8));
  return bytes;
}

absl::StatusOr<NamedAnswer> Decode(const Sha256Digest& key, std::string_view bytes) {
  constexpr std::size_t kCheckBytes = 8;
  if (bytes.size() < kCheckBytes) return DataLoss("a named decision is truncated");
  const std::string_view body = bytes.substr(0, bytes.size() - kCheckBytes);
  const Sha256Digest check = Sha256Of(std::string(AsChars(key)) + std::string(body));
  if (std::memcmp(check.data(), bytes.data() + body.size(), kCheckBytes) != 0) {
    return DataLoss("a named decision has a wrong checksum");
  }
  NamedAnswer answer;
  ByteReader in(body);
  in.Fixed(answer.content);
  answer.until = absl::FromUnixMicros(in.I64());
  answer.maker = std::string(in.Block());
  in.Fixed(answer.instance);
  in.Fixed(answer.user);
  answer.answer = std::string(in.Block());
  if (!in.Done()) return DataLoss("a named decision has a wrong length");
  return answer;
}

}  // namespace

absl::StatusOr<AnswerStore> AnswerStore::Open(const std::string& path) {
  BANDANA_RETURN_IF_ERROR(CheckWal(path + "-wal"));
  BANDANA_ASSIGN_OR_RETURN(SqliteConnection connection, OpenSqlite(path, ""));
  BANDANA_RETURN_IF_ERROR(connection.Exec("PRAGMA wal_autocheckpoint = 1000;"));
  std::int64_t found = 0;
  {
    BANDANA_ASSIGN_OR_RETURN(SqliteStatement version, connection.Prepare("PRAGMA user_version"));
    BANDANA_ASSIGN_OR_RETURN(const bool row, version.Step());
    found = row ? version.Int(0) : -1;
  }
  if (found == 0) BANDANA_RETURN_IF_ERROR(connection.Exec(kSchema));
  if (found != 0 && found != kVersion) return DataLoss("tables of unknown version ", found);
  return AnswerStore(std::move(connection));
}

absl::Status AnswerStore::ForEach(const Row& row) {
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement rows,
                           connection_.Prepare("SELECT name, answer FROM answers"));
  for (;;) {
    BANDANA_ASSIGN_OR_RETURN(const bool found, rows.Step());
    if (!found) return absl::OkStatus();
    Sha256Digest key;
    if (rows.Blob(0).size() != key.size()) return DataLoss("a named decision has a wrong name");
    std::memcpy(key.data(), rows.Blob(0).data(), key.size());
    BANDANA_ASSIGN_OR_RETURN(NamedAnswer answer, Decode(key, rows.Blob(1)));
    row(key, std::move(answer));
  }
}

absl::Status AnswerStore::Write(const std::vector<AnswerChange>& changes) {
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement put,
                           connection_.Prepare("INSERT OR REPLACE INTO answers VALUES(?, ?)"));
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement remove,
                           connection_.Prepare("DELETE FROM answers WHERE name = ?"));
  for (const AnswerChange& change : changes) {
    const std::span<const std::byte> key(change.key);
    if (change.answer) {
      const std::string bytes = Encode(change.key, *change.answer);
      BANDANA_RETURN_IF_ERROR(put.Bind(1, key).Bind(2, std::string_view(bytes)).Run());
    } else {
      BANDANA_RETURN_IF_ERROR(remove.Bind(1, key).Run());
    }
  }
  return absl::OkStatus();
}

absl::Status AnswerStore::Apply(const std::vector<AnswerChange>& changes, bool erase) {
  BANDANA_RETURN_IF_ERROR(connection_.Exec("BEGIN IMMEDIATE"));
  absl::Status done = Write(changes);
  if (done.ok()) done = connection_.Exec("COMMIT");
  // A failed rollback shows at the next BEGIN.
  if (!done.ok() && connection_.InTransaction()) connection_.Exec("ROLLBACK").IgnoreError();
  BANDANA_RETURN_IF_ERROR(done);
  return erase ? connection_.Exec("PRAGMA wal_checkpoint(TRUNCATE)") : absl::OkStatus();
}

}  // namespace bandana::server

#include "server/models/catalogue/arm_store.h"

#include <algorithm>
#include <cstring>

#include "common/base/bytes.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "server/log/wal_check.h"

namespace bandana::server {
namespace {

constexpr char kSchema[] =
    "BEGIN IMMEDIATE; PRAGMA user_version = 1;"
    "CREATE TABLE arms(id INTEGER PRIMARY KEY, arm BLOB NOT NULL);"
    // One row: number of arms, and the digest of the arms file they came from.
    "CREATE TABLE state(row INTEGER PRIMARY KEY CHECK (row = 1), arms INTEGER NOT NULL,"
    " file BLOB NOT NULL);"
    "INSERT INTO state VALUES(1, 0, zeroblob(32)); COMMIT;";

// Since version 2 an arm may have groups. A file without them stays of version 1, which former
// versions of the program read.
constexpr std::int64_t kVersionWithGroups = 2;
// The same since version 3 for names; an arm with a name has its groups before, also none.
constexpr std::int64_t kVersionWithNames = 3;

// A transaction costs what its arms cost, so it counts no others.
constexpr char kCountOfId[] = "SELECT count(*) FROM arms WHERE id = ?";

// Features, tags, groups where there are any, the name where there is one, and the first 8 bytes of
// SHA-256 over the id and all.
std::string EncodeArm(const CatalogueArm& arm) {
  std::string bytes;
  ByteWriter out(bytes);
  out.U32(arm.id);
  out.U32(static_cast<std::uint32_t>(arm.features.size()));
  out.Doubles(arm.features);
  out.U8(static_cast<std::uint8_t>(arm.tags.size()));
  for (const std::string& tag : arm.tags) out.Block(tag);
  if (!arm.groups.empty() || !arm.name.empty()) {
    out.U8(static_cast<std::uint8_t>(arm.groups.size()));
    for (const auto& [name, value] : arm.groups) {
      out.Block(name);
      out.Block(value);
    }
  }
  if (!arm.name.empty()) out.Block(arm.name);
  const Sha256Digest digest = Sha256Of(bytes);
  out.Fixed(std::span(digest).first(8));
  return bytes;
}

absl::StatusOr<CatalogueArm> DecodeArm(std::int64_t version, std::int64_t id,
                                       std::string_view bytes) {
  std::array<std::byte, 8> check{};
  if (bytes.size() < check.size()) return DataLoss("arm ", id, ": truncated");
  const std::string_view body = bytes.substr(0, bytes.size() - check.size());
  const Sha256Digest digest = Sha256Of(body);
  if (std::memcmp(digest.data(), bytes.data() + body.size(), check.size()) != 0) {
    return DataLoss("arm ", id, ": checksum mismatch");
  }
  ByteReader in(body);
  CatalogueArm arm{.id = in.U32()};
  const std::uint32_t dimension = in.U32();
  if (arm.id != id || dimension > kSparseDimensionMax)
    return DataLoss("arm ", id, ": wrong content");
  arm.features.resize(dimension);
  in.Doubles(arm.features);
  const int tags = in.U8();
  for (int i = 0; i < tags && in.ok(); ++i) arm.tags.emplace_back(in.Block());
  const int groups = version >= kVersionWithGroups && in.remaining() > 0 ? in.U8() : 0;
  for (int i = 0; i < groups && in.ok(); ++i) {
    const std::string_view name = in.Block();
    arm.groups.emplace(name, in.Block());
  }
  if (version >= kVersionWithNames && in.ok() && in.remaining() > 0) arm.name = in.Block();
  if (!in.Done()) return DataLoss("arm ", id, ": wrong length");
  return arm;
}

}  // namespace

absl::StatusOr<ArmStore> ArmStore::Open(const std::string& path) {
  BANDANA_RETURN_IF_ERROR(CheckWal(path + "-wal"));
  BANDANA_ASSIGN_OR_RETURN(SqliteConnection connection, OpenSqlite(path, ""));
  ArmStore store(std::move(connection));
  const absl::Status ready = store.MakeTables();
  if (!ready.ok()) return Annotate(ready, path);
  return store;
}

absl::StatusOr<std::int64_t> ArmStore::Version() {
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement version, connection_.Prepare("PRAGMA user_version"));
  BANDANA_ASSIGN_OR_RETURN(const bool row, version.Step());
  return row ? version.Int(0) : -1;
}

absl::Status ArmStore::MakeTables() {
  // Nothing here is hot: the commit that fills the write-ahead file may also empty it.
  BANDANA_RETURN_IF_ERROR(
      connection_.Exec("PRAGMA wal_autocheckpoint = 1000; PRAGMA wal_checkpoint(TRUNCATE);"));
  BANDANA_ASSIGN_OR_RETURN(const std::int64_t found, Version());
  if (found == 0) BANDANA_RETURN_IF_ERROR(connection_.Exec(kSchema));
  if (found > kVersionWithNames || found < 0) return DataLoss("tables of unknown version ", found);
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement state, connection_.Prepare("SELECT file FROM state"));
  BANDANA_ASSIGN_OR_RETURN(const bool has_state, state.Step());
  if (!has_state || state.Blob(0).size() != file_.size()) return DataLoss("state is missing");
  std::memcpy(file_.data(), state.Blob(0).data(), file_.size());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<CatalogueArm>> ArmStore::Load() {
  BANDANA_ASSIGN_OR_RETURN(const std::int64_t version, Version());
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement rows,
                           connection_.Prepare("SELECT id, arm FROM arms ORDER BY id"));
  std::vector<CatalogueArm> arms;
  for (;;) {
    BANDANA_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) break;
    BANDANA_ASSIGN_OR_RETURN(CatalogueArm arm, DecodeArm(version, rows.Int(0), rows.Blob(1)));
    arms.push_back(std::move(arm));
  }
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement state, connection_.Prepare("SELECT arms FROM state"));
  BANDANA_ASSIGN_OR_RETURN(const bool has_state, state.Step());
  if (!has_state || static_cast<std::size_t>(state.Int(0)) != arms.size()) {
    return DataLoss("catalogue: ", arms.size(), " arms found, another number stored");
  }
  return arms;
}

template <typename Body>
absl::Status ArmStore::Transaction(const Sha256Digest& file, const Body& body) {
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement state,
                           connection_.Prepare("UPDATE state SET arms = arms + ?, file = ?"));
  BANDANA_RETURN_IF_ERROR(connection_.Exec("BEGIN IMMEDIATE"));
  std::int64_t added = 0;
  absl::Status done = body(added);
  if (done.ok()) done = state.Bind(1, added).Bind(2, std::span<const std::byte>(file)).Run();
  if (done.ok()) done = connection_.Exec("COMMIT");
  // A failed rollback shows at the next BEGIN.
  if (!done.ok() && connection_.InTransaction()) connection_.Exec("ROLLBACK").IgnoreError();
  if (!done.ok()) return done;
  file_ = file;
  // A damaged last transaction of a write-ahead file looks like a torn one: none shall stand there.
  // Where this fails, it is made good at the next one or at the next start.
  connection_.Exec("PRAGMA wal_checkpoint(TRUNCATE)").IgnoreError();
  return absl::OkStatus();
}

absl::StatusOr<std::int64_t> ArmStore::CountOf(SqliteStatement& count, std::uint32_t id) {
  count.Bind(1, std::int64_t{id});
  BANDANA_ASSIGN_OR_RETURN(const bool row, count.Step());
  const std::int64_t found = row ? count.Int(0) : 0;
  count.Reset();
  return found;
}

absl::Status ArmStore::PutRows(std::span<const CatalogueArm> arms, std::int64_t& added) {
  std::int64_t needed = 0;
  for (const CatalogueArm& arm : arms) {
    if (!arm.groups.empty()) needed = std::max(needed, kVersionWithGroups);
    if (!arm.name.empty()) needed = std::max(needed, kVersionWithNames);
  }
  BANDANA_ASSIGN_OR_RETURN(const std::int64_t version, Version());
  if (needed > version) {
    BANDANA_RETURN_IF_ERROR(
        connection_.Exec(absl::StrCat("PRAGMA user_version = ", needed).c_str()));
  }
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement count, connection_.Prepare(kCountOfId));
  BANDANA_ASSIGN_OR_RETURN(SqliteStatement put,
                           connection_.Prepare("INSERT OR REPLACE INTO arms VALUES(?, ?)"));
  for (const CatalogueArm& arm : arms) {
    BANDANA_ASSIGN_OR_RETURN(const std::int64_t known, CountOf(count, arm.id));
    added += 1 - known;
    const std::string bytes = EncodeArm(arm);
    BANDANA_RETURN_IF_ERROR(put.Bind(1, std::int64_t{arm.id}).Bind(2, bytes).Run());
  }
  return absl::OkStatus();
}

absl::Status ArmStore::Put(std::span<const CatalogueArm> arms, const KeyChange& keys) {
  return PutFromFile(arms, file_, keys);
}

absl::Status ArmStore::PutFromFile(std::span<const CatalogueArm> arms, const Sha256Digest& file,
                                   const KeyChange& keys) {
  return Transaction(file, [&](std::int64_t& added) -> absl::Status {
    BANDANA_RETURN_IF_ERROR(NoteKeys(connection_, keys));
    return PutRows(arms, added);
  });
}

absl::Status ArmStore::Remove(std::span<const std::uint32_t> ids, const KeyChange& keys) {
  return Transaction(file_, [&](std::int64_t& added) -> absl::Status {
    BANDANA_RETURN_IF_ERROR(NoteKeys(connection_, keys));
    BANDANA_ASSIGN_OR_RETURN(SqliteStatement count, connection_.Prepare(kCountOfId));
    BANDANA_ASSIGN_OR_RETURN(SqliteStatement remove,
                             connection_.Prepare("DELETE FROM arms WHERE id = ?"));
    for (const std::uint32_t id : ids) {
      BANDANA_ASSIGN_OR_RETURN(const std::int64_t known, CountOf(count, id));
      added -= known;
      BANDANA_RETURN_IF_ERROR(remove.Bind(1, std::int64_t{id}).Run());
    }
    return absl::OkStatus();
  });
}

}  // namespace bandana::server

#include "tools/audit/transcript/stored_rows.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "server/decisions/decision_files.h"

namespace bandana::audit {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::vector<std::string>> ReadColumn(device::Database& database,
                                                    const std::string& sql) {
  BANDANA_ASSIGN_OR_RETURN(device::Statement statement, database.Prepare(sql.c_str()));
  std::vector<std::string> values;
  while (statement.Step()) values.emplace_back(statement.Blob(0));
  BANDANA_RETURN_IF_ERROR(database.failure());
  return values;
}

// An expression whose text is the column's value, or says its type and size.
std::string Shown(const std::string& column, bool sealed) {
  const std::string name = absl::StrCat("\"", column, "\"");
  if (sealed) return absl::StrCat("typeof(", name, ") || length(", name, ")");
  return absl::StrCat("CASE typeof(", name, ") WHEN 'blob' THEN hex(", name,
                      ") WHEN 'null' THEN '-' ELSE CAST(", name, " AS TEXT) END");
}

// Every blob of the tables, but those that name something.
SealedColumns AllBlobs(const std::vector<std::string>& tables) {
  SealedColumns all;
  for (const std::string& table : tables) {
    for (const char* column : {"value", "hash", "record"})
      all.insert(absl::StrCat(table, ".", column));
  }
  return all;
}

bool IsDatabase(const fs::path& path) {
  std::string head(15, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  return head == "SQLite format 3";
}

absl::StatusOr<std::vector<std::string>> TablesOf(device::Database& database) {
  return ReadColumn(database, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
}

absl::Status RecordDatabase(const fs::path& path, const std::string& name, bool blobs_are_raw,
                            Recorder& out) {
  BANDANA_ASSIGN_OR_RETURN(const auto database, device::Database::Open(path.string()));
  BANDANA_RETURN_IF_ERROR(database->Execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  BANDANA_ASSIGN_OR_RETURN(const auto tables, TablesOf(*database));
  SealedColumns sealed = {"cells.value", "state.value", "sealed_answers.answer"};
  if (blobs_are_raw) sealed.merge(AllBlobs(tables));
  return RecordRows(*database, sealed, name, out);
}

bool IsDecisionLog(const fs::path& path) {
  return path.parent_path().filename() == server::kDecisionFolder;
}

// A decision log has no noise of its own, so its bytes are compared as they are, in pieces that a
// report can show.
absl::Status RecordBytes(const fs::path& path, const std::string& name, Recorder& out) {
  constexpr std::size_t kPieceBytes = 64;
  constexpr std::uint64_t kBytesMax = 1 << 26;
  BANDANA_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path.string(), kBytesMax));
  for (std::size_t at = 0; at < bytes.size(); at += kPieceBytes) {
    out.Text(Observer::kThief, name, absl::BytesToHexString(bytes.substr(at, kPieceBytes)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RecordRows(device::Database& database, const SealedColumns& sealed,
                        const std::string& prefix, Recorder& out) {
  BANDANA_ASSIGN_OR_RETURN(const auto tables, TablesOf(database));
  for (const std::string& table : tables) {
    BANDANA_ASSIGN_OR_RETURN(
        const auto columns,
        ReadColumn(database, absl::StrCat("SELECT name FROM pragma_table_info('", table, "')")));
    std::vector<std::string> parts;
    parts.reserve(columns.size());
    for (const std::string& column : columns) {
      parts.push_back(Shown(column, sealed.contains(absl::StrCat(table, ".", column))));
    }
    BANDANA_ASSIGN_OR_RETURN(
        const auto rows,
        ReadColumn(database, absl::StrCat("SELECT ", absl::StrJoin(parts, " || ';' || "),
                                          " FROM \"", table, "\"")));
    const std::string name = absl::StrCat(prefix, " ", table);
    out.Number(Observer::kThief, absl::StrCat(name, " rows"),
               static_cast<std::int64_t>(rows.size()));
    for (const std::string& row : rows) out.Text(Observer::kThief, name, row);
  }
  return absl::OkStatus();
}

absl::Status CopyFolder(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::remove_all(to, error);
  fs::copy(from, to, fs::copy_options::recursive, error);
  if (error) return Unavailable("cannot copy ", from, ": ", error.message());
  return absl::OkStatus();
}

absl::Status RecordFolder(const std::string& folder, bool blobs_are_raw, Recorder& out) {
  const std::string copy = folder + ".look";
  BANDANA_RETURN_IF_ERROR(CopyFolder(folder, copy));
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(copy)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& path : files) {
    const std::string name = fs::relative(path, copy).string();
    // They are empty once the logs are truncated.
    if (name.ends_with("-wal") || name.ends_with("-shm")) continue;
    if (IsDatabase(path)) {
      BANDANA_RETURN_IF_ERROR(RecordDatabase(path, name, blobs_are_raw, out));
    }
    if (IsDecisionLog(path)) BANDANA_RETURN_IF_ERROR(RecordBytes(path, name, out));
    out.Number(Observer::kThief, absl::StrCat(name, " bytes"),
               static_cast<std::int64_t>(fs::file_size(path)));
  }
  std::error_code ignored;
  fs::remove_all(copy, ignored);
  return absl::OkStatus();
}

}  // namespace bandana::audit

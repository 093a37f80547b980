#include "server/log/state/folder_state.h"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "common/base/file.h"
#include "common/base/removal.h"
#include "common/base/status.h"
#include "server/log/state/sqlite_table.h"

namespace bandana::server {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHalfWritten = ".tmp";  // WriteFileDurably

absl::StatusOr<bool> Exists(const std::string& path) {
  std::error_code error;
  const bool exists = fs::exists(path, error);
  if (error) return Unavailable("cannot look at ", path, ": ", error.message());
  return exists;
}

class FolderState final : public StateStore {
 public:
  explicit FolderState(std::string folder) : folder_(std::move(folder)) {}

  absl::StatusOr<std::vector<std::string>> Files() const override {
    BANDANA_ASSIGN_OR_RETURN(std::vector<std::string> names, All());
    std::erase_if(names, [](const std::string& name) { return name.ends_with(kHalfWritten); });
    return names;
  }
  absl::StatusOr<bool> Has(std::string_view name) const override { return Exists(Where(name)); }
  absl::StatusOr<std::string> Read(std::string_view name, std::uint64_t bytes_max) const override {
    return ReadFile(Where(name), bytes_max);
  }
  absl::StatusOr<ReadAt> Open(std::string_view name) const override {
    const std::string path = Where(name);
    auto file = std::make_shared<std::ifstream>(path, std::ios::binary);
    if (!*file) return NotFound(path, " is missing");
    // A piece at a time: the file may be as large as all that the model holds.
    return [file, path](std::uint64_t offset, std::span<char> out) -> absl::Status {
      file->clear();
      file->seekg(static_cast<std::streamoff>(offset));
      file->read(out.data(), static_cast<std::streamsize>(out.size()));
      return *file ? absl::OkStatus() : DataLoss(path, " is too short");
    };
  }

  using StateStore::Write;
  absl::Status Write(std::string_view name, const ByteSource& content) override {
    return WriteFileDurably(Where(name), content, 0600);
  }
  absl::Status Remove(std::string_view name) override { return RemovePath(Where(name)); }
  absl::Status Rename(std::string_view from, std::string_view to) override {
    std::error_code error;
    fs::rename(Where(from), Where(to), error);
    if (error) return Unavailable("cannot rename ", Where(from), ": ", error.message());
    return SyncFolderOf(Where(to));
  }
  absl::Status RemoveHalfWritten(std::string_view prefix) override {
    BANDANA_ASSIGN_OR_RETURN(const std::vector<std::string> names, All());
    for (const std::string& name : names) {
      const bool half = name.starts_with(prefix) && name.ends_with(kHalfWritten);
      if (half) BANDANA_RETURN_IF_ERROR(RemovePath(Where(name)));
    }
    return absl::OkStatus();
  }
  absl::Status EraseRemoved() override { return absl::OkStatus(); }
  std::string Where(std::string_view name) const override {
    return absl::StrCat(folder_, "/", ToAbsl(name));
  }

  TablePlace Table(TableKind kind) override {
    return SqliteTableAt(kind, Where(SqliteTableFile(kind)));
  }

  absl::StatusOr<StateVersions> Versions() const override { return StateVersions(); }
  absl::Status Own(std::int64_t /*term*/) override { return absl::OkStatus(); }

 private:
  absl::StatusOr<std::vector<std::string>> All() const {
    std::vector<std::string> names;
    std::error_code error;
    fs::directory_iterator it(folder_, error);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) {
      names.push_back(it->path().filename().string());
    }
    if (error) return Unavailable("cannot list ", folder_, ": ", error.message());
    return names;
  }
  static absl::Status RemovePath(const std::string& path) {
    BANDANA_ASSIGN_OR_RETURN(const bool removed, RemoveFile(path));
    return removed ? SyncFolderOf(path) : absl::OkStatus();
  }

  const std::string folder_;
};

}  // namespace

std::shared_ptr<StateStore> StateInFolder(std::string folder) {
  return std::make_shared<FolderState>(std::move(folder));
}

TablePlace SqliteTableAt(TableKind kind, std::string path) {
  return {.where = path,
          .exists = [path] { return Exists(path); },
          .open = [kind, path = std::move(path)] { return OpenSqliteTable(kind, path); }};
}

}  // namespace bandana::server

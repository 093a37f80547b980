#include "server/models/registry/model_folders.h"

#include <filesystem>
#include <system_error>

#include "common/base/file.h"
#include "common/base/removal.h"
#include "common/base/status.h"

namespace bandana::server {

absl::StatusOr<bool> ModelFolders::Adopt(const std::string& model) const {
  BANDANA_RETURN_IF_ERROR(MakeFolders(PathOf(model)));
  BANDANA_ASSIGN_OR_RETURN(const bool known, log_->Adopt(PathOf(model)));
  if (!known) {
    std::error_code error;
    std::filesystem::remove(PathOf(model), error);  // only where it is empty
  }
  return known;
}

absl::Status ModelFolders::Remove(const std::string& path) const {
  BANDANA_RETURN_IF_ERROR(log_->Remove(path));
  return RemoveFolder(path);
}

absl::Status ModelFolders::Bury(std::string_view model) const {
  const std::string grave = PathOf(std::string(kDeletedPrefix) + std::string(model));
  BANDANA_RETURN_IF_ERROR(Remove(grave));
  BANDANA_RETURN_IF_ERROR(Rename(PathOf(model), grave));
  return Remove(grave);
}

absl::Status ModelFolders::Rename(const std::string& from, const std::string& to) const {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (error) return Unavailable("cannot rename ", from, ": ", error.message());
  return SyncFolderOf(to);
}

}  // namespace bandana::server

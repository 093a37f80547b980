#include "server/log/sqlite_engine.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "common/base/status.h"
#include "server/log/sqlite_log.h"

namespace bandana::server {
namespace {

class SqliteEngine final : public LogEngine {
 public:
  explicit SqliteEngine(std::string vfs) : vfs_(std::move(vfs)) {}

  std::string_view name() const override { return "sqlite"; }
  std::string_view file() const override { return kSqliteLogFile; }
  bool Holds(const std::string& folder) const override {
    std::error_code error;
    return std::filesystem::exists(PathIn(folder), error);
  }
  absl::Status Create(const std::string& folder, const LogPosition& start) const override {
    return CreateSqliteLog({.path = PathIn(folder), .vfs = vfs_}, start);
  }
  absl::StatusOr<std::unique_ptr<UpdateLog>> Open(const std::string& folder,
                                                  const LogUse& use) const override {
    return OpenSqliteLog({.path = PathIn(folder),
                          .vfs = vfs_,
                          .erase_trimmed = use.erase_trimmed,
                          .stepped = use.stepped});
  }
  absl::Status Remove(const std::string& folder) const override {
    return RemoveSqliteLog(PathIn(folder));
  }

 private:
  static std::string PathIn(const std::string& folder) { return folder + "/" + kSqliteLogFile; }

  const std::string vfs_;  // SQLite's default when empty
};

}  // namespace

std::shared_ptr<const LogEngine> SqliteEngineOver(std::string vfs) {
  return std::make_shared<const SqliteEngine>(std::move(vfs));
}

}  // namespace bandana::server

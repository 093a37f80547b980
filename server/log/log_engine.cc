#include "server/log/log_engine.h"

#include <filesystem>
#include <system_error>

#include "common/base/status.h"
#include "server/log/sqlite_engine.h"
#include "server/log/state/folder_state.h"

namespace bandana::server {
namespace {

struct Row {
  std::string_view name;
  std::string_view file;
};

// By which file a folder shows whose log it has.
constexpr Row kEngines[] = {{"sqlite", kSqliteLogFile}, {"postgresql", kPgLogFile}};

// The engine whose log the folder has; empty when there is none.
std::string_view HolderOf(const std::string& folder) {
  for (const Row& row : kEngines) {
    std::error_code error;
    if (std::filesystem::exists(folder + "/" + std::string(row.file), error)) return row.name;
  }
  return "";
}

}  // namespace

std::shared_ptr<const LogEngine> DefaultLogEngine() {
  static const std::shared_ptr<const LogEngine> engine = SqliteEngineOver("");
  return engine;
}

absl::StatusOr<std::shared_ptr<StateStore>> LogEngine::OpenState(const std::string& folder,
                                                                 bool /*draws_noise*/) const {
  return StateInFolder(folder);
}

absl::StatusOr<std::unique_ptr<FollowedLog>> LogEngine::Follow(const std::string& folder,
                                                               const LogUse& /*use*/) const {
  return FailedPrecondition("the log in ", folder, " is of no server but this one");
}

absl::StatusOr<std::unique_ptr<UpdateLog>> OpenLog(const LogEngine& engine,
                                                   const std::string& folder, const LogUse& use) {
  const std::string_view holder = HolderOf(folder);
  if (!engine.Holds(folder) && !holder.empty() && holder != engine.name()) {
    return FailedPrecondition("the log in ", folder, " is one of ", ToAbsl(holder),
                              ", and this server, or tool, was told to use ",
                              ToAbsl(engine.name()));
  }
  return engine.Open(folder, use);
}

}  // namespace bandana::server

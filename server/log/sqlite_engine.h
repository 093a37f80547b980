// The default engine: each model's log is the SQLite file log.sqlite in its folder.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/log/log_engine.h"

namespace bandana::server {

// Errors: INVALID_ARGUMENT: it has no settings.
absl::StatusOr<std::shared_ptr<const LogEngine>> MakeSqliteEngine(std::string_view settings);

// Goes through this SQLite VFS. Tests inject faults there.
std::shared_ptr<const LogEngine> SqliteEngineOver(std::string vfs);

}  // namespace bandana::server

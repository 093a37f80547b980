// The default engine: each model's log is the SQLite file log.sqlite in its folder.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/log/log_engine.h"

namespace bandana::server {

// Goes through this SQLite VFS, SQLite's default when empty. Tests inject faults there.
std::shared_ptr<const LogEngine> SqliteEngineOver(std::string vfs);

}  // namespace bandana::server

// The state of a model whose log is a file: files beside it, and a SQLite file for each table.
#pragma once

#include <memory>
#include <string>

#include "server/log/state/state_store.h"

namespace bandana::server {

// Makes nothing: files are made by their first Write, tables when they are opened.
std::shared_ptr<StateStore> StateInFolder(std::string folder);

// A table in a SQLite file.
TablePlace SqliteTableAt(TableKind kind, std::string path);

}  // namespace bandana::server

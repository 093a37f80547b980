// The aliases of a server, as they lie in its data folder.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "common/design/alias.h"

namespace bandana::server {

using Aliases = std::map<std::string, AliasSpec, std::less<>>;  // by name

// Writes data_dir/aliases durably. Errors: UNAVAILABLE I/O, and then the file is as before.
absl::Status WriteAliases(const std::string& data_dir, const Aliases& aliases);
// None where there is no file. Errors: DATA_LOSS damaged; UNAVAILABLE I/O.
absl::StatusOr<Aliases> ReadAliases(const std::string& data_dir);

}  // namespace bandana::server

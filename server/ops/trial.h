// A configuration tried out: what a start with it would make, in a folder of its own.
#pragma once

#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/design/model_spec.h"
#include "server/ops/config/server_spec.h"

namespace bandana::server {

// Adds a mistake, named from the top of the configuration, for all that would keep a server from
// starting with it, or one of its models from being served. Opens no address, takes no lock, and
// writes nothing but a folder of its own, which is gone on return: a server may be running with the
// same data_dir. The data folder is read where it decides: whether it can be written, its keys, and
// what its models cannot change. A database is asked whether it lets the server in, and nothing
// else; one that does not answer is no mistake of the configuration. Returns, for an operator, what
// a start needs besides; "": nothing.
std::string TryStart(const ServerSpec& spec, const Clock& clock, std::vector<ConfigError>& errors);

}  // namespace bandana::server

// The users of a model with a graph who were put: which node each belongs to.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/design/model_spec.h"
#include "server/models/users/user_table.h"

namespace bandana::server {

// They stand before the configuration's users. The table at `place` is made with the first of them:
// entries of the log name nodes, so no state depends on it. Where a promise counts a node's events,
// nobody moves from one node to another. Errors: as UserTable::Open.
absl::StatusOr<std::unique_ptr<UserTable>> OpenNodeTable(const ModelSpec& spec,
                                                         const TablePlace& place);

}  // namespace bandana::server

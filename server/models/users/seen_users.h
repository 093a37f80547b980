// The users of an independent model: those of whom there was an event.
#pragma once

#include <memory>

#include "common/design/model_spec.h"
#include "server/models/users/user_table.h"

namespace bandana::server {

// Nobody can be put; a list goes over all users, some 0.1 s per million and page. `seen` must
// outlive it.
std::unique_ptr<UserTable> MakeSeenUsers(const ModelSpec& spec, const UserIndex& seen);

}  // namespace bandana::server

// Groups of users who name their friends.
#pragma once

#include "server/models/users/known_users.h"
#include "server/models/users/user_batch.h"

namespace bandana::server {

// Each user with friends joins, for every group without a value of the user's own, the value that
// most of the friends have; of equally many, the least in the order of bytes. Friends who are not
// known, who are in no such group, or the user itself, do not count. To be called by the one who
// changes `known`.
void JoinFriends(const KnownUsers& known, UserBatch& batch);

}  // namespace bandana::server

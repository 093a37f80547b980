// Names for the values that stand out in a model of effects.
#pragma once

#include <vector>

#include "common/ranking/served_posterior.h"
#include "server/models/catalogue/catalogue.h"
#include "server/models/users/user_table.h"

namespace bandana::server {

// Fills in the names of arms ("arm 7"), and of the values of groups that some user or arm of the
// catalogue has now. Others stay without.
void NameValues(const Catalogue& catalogue, const UserTable& users, std::vector<EffectLook>& looks);

}  // namespace bandana::server

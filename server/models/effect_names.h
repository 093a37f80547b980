// Names for the values that stand out in a model of effects.
#pragma once

#include <vector>

#include "common/ranking/served_posterior.h"
#include "server/models/admission/sent_names.h"
#include "server/models/catalogue/catalogue.h"
#include "server/models/users/user_table.h"

namespace bandana::server {

// Fills in the names of arms, and of the values of groups that some user or arm of the catalogue
// has now. An arm of the catalogue is "arm 7", with its name behind where it has one; one that
// callers send by name has that name while `sent` knows it. Others stay without.
void NameValues(const Catalogue& catalogue, const UserTable& users, const SentNames& sent,
                std::vector<EffectLook>& looks);

}  // namespace bandana::server

// The message of a configuration's coupling, whichever it is: by reflection, so that a new
// coupling needs nothing here.
#pragma once

#include <string>

#include "bandana/v1/config.pb.h"

namespace bandana {

// The graph and the map of users of the coupling; nullptr: it has no such field.
const v1::Graph* GraphOf(const v1::ModelConfig& config);
const v1::UserMap* UsersOf(const v1::ModelConfig& config);
v1::Graph* MutableGraphOf(v1::ModelConfig& config);
v1::UserMap* MutableUsersOf(v1::ModelConfig& config);

// Hexadecimal digest of the graph, also where there is none.
std::string GraphDigest(const v1::ModelConfig& config);

// Leaves of the coupling its single numbers and choices alone: everything that can name users or
// say how they hang together is cleared, whatever the coupling.
void RedactUsers(v1::ModelConfig& config);

}  // namespace bandana

// Which model behind an alias takes a user.
#pragma once

#include <cstddef>
#include <string_view>

#include "common/design/alias.h"

namespace bandana::server {

// Index of the share of `alias` that takes the user: a function of the alias's name, the user's id,
// and names and weights of the models, whatever their order; never of time or of anything that was
// learnt. Over users each share has its weight's part. When a share is added, removed or weighed
// anew, users move to it or from it, and between no others. Weighted rendezvous hashing: the share
// with the least -ln(h) / weight, h in (0, 1) hashed by SHA-256. Requires a share.
std::size_t ShareOf(const AliasSpec& alias, std::string_view user);

}  // namespace bandana::server

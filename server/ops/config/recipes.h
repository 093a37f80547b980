// Configurations to begin with, for what most applications do.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace bandana::server {

// A commented configuration file with one model that a server serves as it stands. Names: clicks,
// ratings, notifications, catalogue, personalizer. `to_try`: rewards count within seconds. Errors:
// NOT_FOUND naming them.
absl::StatusOr<std::string> Recipe(std::string_view name, bool to_try = false);
// "clicks|ratings|...".
std::string RecipeNames();

}  // namespace bandana::server

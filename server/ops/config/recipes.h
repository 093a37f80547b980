// Configurations to begin with, for what most applications do.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bandana::server {

// A commented configuration file with one model that a server serves as it stands. Names: clicks,
// ratings, notifications, catalogue, personalizer. `to_try`: rewards count within seconds. Errors:
// NOT_FOUND naming them.
absl::StatusOr<std::string> Recipe(std::string_view name, bool to_try = false);
// All recipes for programs that make models of them: a JSON list of {"name", "about", "config",
// "toTry"}. `about`: one sentence; `config`: its model, as Admin.CreateModel takes it; `toTry`:
// with rewards that count within seconds, where that differs. No token lives longer than
// `token_lifetime_max`, the server's rotation interval.
std::string RecipesJson(absl::Duration token_lifetime_max);
// "clicks|ratings|...".
std::string RecipeNames();

}  // namespace bandana::server

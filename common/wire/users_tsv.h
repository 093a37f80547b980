// users.tsv: which node of the graph a user id belongs to (docs/formats.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bandana {

using UserMapping = std::unordered_map<std::string, int>;

// Adds one entry. Errors: INVALID_ARGUMENT on an id that is not 1 to kUserIdBytesMax bytes or is
// there already, and on a node that is not in [0, nodes).
absl::Status AddUser(std::string_view id, std::uint64_t node, int nodes, UserMapping& users);

// One line per user: id, tab, decimal node number in [0, nodes). Lines end in \n or \r\n; no empty
// lines, no header. Errors: INVALID_ARGUMENT with the line.
absl::StatusOr<UserMapping> ParseUsersTsv(std::string_view text, int nodes);

}  // namespace bandana

// users.tsv: the node of the graph that a user id belongs to, and the user's groups
// (docs/formats.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bandana {

// PlainText (common/base/text.h); no empty lines. Two forms. Without header: user id, tab, decimal
// node number. With header: the first line starts with `user`, a tab, and names the columns:
// `user`, at most one `node`, all others are groups (common/design/files/group_names.h); a cell
// that is empty or `-` stands for none. A first line of `user`, a tab and a decimal number is no
// header: that is a user's id.

using UserMapping = std::unordered_map<std::string, int>;

// Adds one entry. Errors: INVALID_ARGUMENT on an id that is not 1 to kUserIdBytesMax bytes or is
// there already, and on a node that is not in [0, nodes).
absl::Status AddUser(std::string_view id, std::uint64_t node, int nodes, UserMapping& users);

// The nodes in [0, nodes). Users without a node are left out. Errors: INVALID_ARGUMENT with the
// line; a header without the column `node`.
absl::StatusOr<UserMapping> ParseUsersTsv(std::string_view text, int nodes);

// The groups in users.tsv.
struct UserGroups {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  std::vector<std::string_view> names;                // of the groups, in the file's order
  std::vector<std::vector<std::string_view>> values;  // per group, in the order of the file
  std::vector<std::string_view> ids;                  // of the users
  std::vector<std::uint32_t> cells;  // per user and group: position in the group's values, or kNone

  std::uint32_t cell(std::size_t user, std::size_t group) const {
    return cells[user * names.size() + group];
  }
};

// The views point into `text`, which must outlive the result: 4 bytes per cell, 16 per user and per
// value. A file without header has no groups. Nodes must be decimal numbers. Errors:
// INVALID_ARGUMENT with the line, also for more than `users_max` users, kGroupsMax groups or
// kGroupValuesMax values of one group.
absl::StatusOr<UserGroups> ParseUserGroupsTsv(std::string_view text, std::uint64_t users_max);

// The most that such a file may have: ten million users with all groups.
inline constexpr std::uint64_t kUserGroupsFileBytesMax = 8ull << 30;

// Errors: INVALID_ARGUMENT a group that is not among the `declared` ones of a model.
absl::Status CheckDeclared(const UserGroups& users, const std::vector<std::string>& declared);

}  // namespace bandana

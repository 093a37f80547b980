#include "common/design/files/users_tsv.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/design/files/group_names.h"

namespace bandana {
namespace {

using Cells = std::vector<std::string_view>;

void SplitCells(std::string_view line, Cells& cells) {
  cells.clear();
  std::size_t tab = 0;
  while ((tab = line.find('\t')) != std::string_view::npos) {
    cells.push_back(line.substr(0, tab));
    line.remove_prefix(tab + 1);
  }
  cells.push_back(line);
}

std::optional<std::uint64_t> ParseDecimal(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || parsed != end) return std::nullopt;
  return value;
}

bool IsNone(std::string_view cell) { return cell.empty() || cell == "-"; }

// Which cell of a line holds what.
struct Columns {
  bool header = false;
  std::size_t count = 2;
  std::optional<std::size_t> node = 1;
  std::vector<std::size_t> groups;
};

bool IsHeader(std::string_view line) {
  constexpr std::string_view kStart = "user\t";
  return line.starts_with(kStart) && !ParseDecimal(line.substr(kStart.size()));
}

absl::StatusOr<Columns> ParseHeader(const Cells& names) {
  Columns columns{.header = true, .count = names.size(), .node = std::nullopt, .groups = {}};
  absl::flat_hash_set<std::string_view> seen = {names[0]};
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (!seen.insert(names[i]).second) {
      return InvalidArgument("columns with the same name: column ", i + 1, " and one before it");
    }
    if (names[i] == "node") {
      columns.node = i;
      continue;
    }
    BANDANA_RETURN_IF_ERROR(Annotate(CheckGroupName(names[i]), absl::StrCat("column ", i + 1)));
    columns.groups.push_back(i);
  }
  if (columns.groups.size() > kGroupsMax) {
    return InvalidArgument(columns.groups.size(), " groups, there may be ", kGroupsMax);
  }
  return columns;
}

struct Table {
  Columns columns;
  Cells names;      // the first line's cells
  TextLines lines;  // with the users
};

absl::StatusOr<Table> ParseTable(std::string_view text) {
  BANDANA_ASSIGN_OR_RETURN(TextLines all, TextLines::Of(text));
  TextLines rest = all;
  std::string_view first;
  rest.Next(first);
  Table table{.columns = {}, .names = {}, .lines = all};
  SplitCells(first, table.names);
  if (!IsHeader(first)) return table;
  absl::StatusOr<Columns> columns = ParseHeader(table.names);
  if (!columns.ok()) return Annotate(columns.status(), "line 1");
  table.columns = *std::move(columns);
  table.lines = rest;
  return table;
}

// Calls `row` with each line's cells, as many as there are columns.
template <typename Row>
absl::Status ForEachRow(const Table& table, Row row) {
  Cells cells;
  TextLines lines = table.lines;
  for (std::string_view line; lines.Next(line);) {
    SplitCells(line, cells);
    absl::Status status;
    if (cells.size() == table.columns.count) {
      status = row(cells);
    } else if (table.columns.header) {
      status = InvalidArgument(cells.size(), " cells, the header names ", table.columns.count);
    } else {
      status = InvalidArgument("expected user id, tab, node number");
    }
    BANDANA_RETURN_IF_ERROR(Annotate(status, absl::StrCat("line ", lines.number())));
  }
  return absl::OkStatus();
}

absl::Status CheckUserId(std::string_view id) {
  if (!id.empty() && id.size() <= kUserIdBytesMax) return absl::OkStatus();
  return InvalidArgument("a user id must have 1 to ", kUserIdBytesMax, " bytes, got ", id.size());
}

absl::Status SeenBefore() { return InvalidArgument("a user id that was given before"); }

// One group's values, each kept once.
class Values {
 public:
  explicit Values(std::vector<std::string_view>& values) : values_(values) {}

  absl::StatusOr<std::uint32_t> Position(std::string_view value) {
    if (const auto found = positions_.find(value); found != positions_.end()) return found->second;
    BANDANA_RETURN_IF_ERROR(CheckGroupValue(value));
    const auto position = static_cast<std::uint32_t>(values_.size());
    if (position == kGroupValuesMax) {
      return InvalidArgument("more than ", kGroupValuesMax, " values of one group");
    }
    values_.push_back(value);
    positions_.emplace(value, position);
    return position;
  }

 private:
  std::vector<std::string_view>& values_;
  absl::flat_hash_map<std::string_view, std::uint32_t> positions_;
};

// Builds UserGroups row by row.
class GroupsReader {
 public:
  GroupsReader(const Columns& columns, const Cells& names, std::uint64_t users_max)
      : columns_(columns), users_max_(users_max) {
    for (const std::size_t column : columns.groups) groups_.names.push_back(names[column]);
    groups_.values.resize(columns.groups.size());
    for (std::vector<std::string_view>& names_of_one : groups_.values) {
      values_.emplace_back(names_of_one);
    }
  }

  absl::Status Add(const Cells& cells) {
    BANDANA_RETURN_IF_ERROR(CheckUserId(cells[0]));
    if (!seen_.insert(cells[0]).second) return SeenBefore();
    if (groups_.ids.size() == users_max_) {
      return InvalidArgument("more than users_max = ", users_max_, " users");
    }
    BANDANA_RETURN_IF_ERROR(CheckNode(cells));
    groups_.ids.push_back(cells[0]);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::string_view value = cells[columns_.groups[i]];
      std::uint32_t position = UserGroups::kNone;
      if (!IsNone(value)) {
        auto found = values_[i].Position(value);
        if (!found.ok()) return Annotate(found.status(), groups_.names[i]);
        position = *found;
      }
      groups_.cells.push_back(position);
    }
    return absl::OkStatus();
  }

  UserGroups Take() { return std::move(groups_); }

 private:
  absl::Status CheckNode(const Cells& cells) const {
    if (!columns_.node || (columns_.header && IsNone(cells[*columns_.node]))) {
      return absl::OkStatus();
    }
    if (ParseDecimal(cells[*columns_.node])) return absl::OkStatus();
    return InvalidArgument("the node must be a decimal number");
  }

  const Columns& columns_;
  std::uint64_t users_max_;
  UserGroups groups_;
  std::vector<Values> values_;
  absl::flat_hash_set<std::string_view> seen_;
};

}  // namespace

absl::Status AddUser(std::string_view id, std::uint64_t node, int nodes, UserMapping& users) {
  BANDANA_RETURN_IF_ERROR(CheckUserId(id));
  if (node >= static_cast<std::uint64_t>(nodes)) {
    return InvalidArgument("the node must be in [0, ", nodes, "), got ", node);
  }
  if (!users.emplace(id, static_cast<int>(node)).second) return SeenBefore();
  return absl::OkStatus();
}

absl::StatusOr<UserMapping> ParseUsersTsv(std::string_view text, int nodes) {
  BANDANA_ASSIGN_OR_RETURN(const Table table, ParseTable(text));
  const Columns& columns = table.columns;
  if (!columns.node) return InvalidArgument("line 1: a graph's users need the column `node`");
  UserMapping users;
  absl::flat_hash_set<std::string_view> without_node;
  BANDANA_RETURN_IF_ERROR(ForEachRow(table, [&](const Cells& cells) -> absl::Status {
    const std::string_view id = cells[0];
    const std::string_view cell = cells[*columns.node];
    if (without_node.contains(id)) return SeenBefore();
    if (columns.header && IsNone(cell)) {
      if (users.contains(std::string(id))) return SeenBefore();
      without_node.insert(id);
      return CheckUserId(id);
    }
    const std::optional<std::uint64_t> node = ParseDecimal(cell);
    if (!node) {
      return InvalidArgument("the node after the tab must be a decimal number in [0, ", nodes, ")");
    }
    return AddUser(id, *node, nodes, users);
  }));
  return users;
}

absl::Status CheckDeclared(const UserGroups& users, const std::vector<std::string>& declared) {
  for (const std::string_view name : users.names) {
    if (std::ranges::find(declared, name) != declared.end()) continue;
    return InvalidArgument("the group ", ToAbsl(name), " is not one of user_groups");
  }
  return absl::OkStatus();
}

absl::StatusOr<UserGroups> ParseUserGroupsTsv(std::string_view text, std::uint64_t users_max) {
  BANDANA_ASSIGN_OR_RETURN(const Table table, ParseTable(text));
  GroupsReader reader(table.columns, table.names, users_max);
  BANDANA_RETURN_IF_ERROR(ForEachRow(table, [&](const Cells& cells) { return reader.Add(cells); }));
  return reader.Take();
}

}  // namespace bandana

#include "common/wire/users_tsv.h"

#include <charconv>

#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana {
namespace {

absl::Status AddLine(std::string_view line, int nodes, UserMapping& users) {
  const std::size_t tab = line.find('\t');
  if (tab == std::string_view::npos) return InvalidArgument("expected user id, tab, node number");
  const std::string_view number = line.substr(tab + 1);
  std::uint64_t node = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), node);
  if (error != std::errc() || end != number.data() + number.size()) {
    return InvalidArgument("the node after the tab must be a decimal number in [0, ", nodes, ")");
  }
  return AddUser(line.substr(0, tab), node, nodes, users);
}

}  // namespace

absl::Status AddUser(std::string_view id, std::uint64_t node, int nodes, UserMapping& users) {
  if (id.empty() || id.size() > kUserIdBytesMax) {
    return InvalidArgument("a user id must have 1 to ", kUserIdBytesMax, " bytes, got ", id.size());
  }
  if (node >= static_cast<std::uint64_t>(nodes)) {
    return InvalidArgument("the node must be in [0, ", nodes, "), got ", node);
  }
  if (!users.emplace(id, static_cast<int>(node)).second) {
    return InvalidArgument("a user id that was given before");
  }
  return absl::OkStatus();
}

absl::StatusOr<UserMapping> ParseUsersTsv(std::string_view text, int nodes) {
  UserMapping users;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    BANDANA_RETURN_IF_ERROR(Annotate(AddLine(line, nodes, users), absl::StrCat("line ", number)));
  }
  return users;
}

}  // namespace bandana

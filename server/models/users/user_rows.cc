#include "server/models/users/user_rows.h"

#include <algorithm>

#include "common/base/status.h"

namespace bandana::server {

absl::StatusOr<UserRows> UserRows::Of(const UserGroups& users,
                                      const std::vector<std::string>& declared) {
  BANDANA_RETURN_IF_ERROR(CheckDeclared(users, declared));
  UserRows rows(users);
  rows.columns_.resize(declared.size());
  rows.row_.resize(declared.size());
  for (std::size_t i = 0; i < users.names.size(); ++i) {
    const auto group = std::ranges::find(declared, users.names[i]);
    rows.columns_[static_cast<std::size_t>(group - declared.begin())] = i;
  }
  return rows;
}

std::string_view UserRows::value(std::size_t user, std::size_t group) const {
  const auto column = columns_[group];
  if (!column) return {};
  const std::uint32_t position = users_->cell(user, *column);
  return position == UserGroups::kNone ? std::string_view() : users_->values[*column][position];
}

std::span<const std::string_view> UserRows::Row(std::size_t user) {
  for (std::size_t g = 0; g < row_.size(); ++g) row_[g] = value(user, g);
  return row_;
}

absl::Status UserRows::ForEach(
    absl::FunctionRef<absl::Status(std::string_view, std::span<const std::string_view>)> take) {
  for (std::size_t i = 0; i < size(); ++i) BANDANA_RETURN_IF_ERROR(take(id(i), Row(i)));
  return absl::OkStatus();
}

std::span<const std::string_view> UserRows::values(std::size_t group) const {
  const auto column = columns_[group];
  if (!column) return {};
  return users_->values[*column];
}

}  // namespace bandana::server

// Users as the table takes them: one value or none for each declared group.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "common/design/files/users_tsv.h"

namespace bandana::server {

// A view in the order of the declaration. Not thread-safe.
class UserRows {
 public:
  // `users` must outlive it. Errors: INVALID_ARGUMENT a group that is not declared.
  static absl::StatusOr<UserRows> Of(const UserGroups& users,
                                     const std::vector<std::string>& declared);

  std::size_t size() const { return users_->ids.size(); }
  std::size_t groups() const { return columns_.size(); }
  std::string_view id(std::size_t user) const { return users_->ids[user]; }
  // "" for none.
  std::string_view value(std::size_t user, std::size_t group) const;
  // Until the next call.
  std::span<const std::string_view> Row(std::size_t user);
  // Calls `take` with every user: id and row. Ends with its first error.
  absl::Status ForEach(
      absl::FunctionRef<absl::Status(std::string_view, std::span<const std::string_view>)> take);
  // All values of the group that are in the rows.
  std::span<const std::string_view> values(std::size_t group) const;

 private:
  explicit UserRows(const UserGroups& users) : users_(&users) {}

  const UserGroups* users_;
  std::vector<std::optional<std::size_t>> columns_;  // by declared group
  std::vector<std::string_view> row_;
};

}  // namespace bandana::server

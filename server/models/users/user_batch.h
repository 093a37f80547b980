// The users of one call of PutUsers, checked as they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bandana/v1/admin.pb.h"
#include "common/design/files/users_tsv.h"
#include "common/ranking/effect_key.h"

namespace bandana::server {

// Checks the users that a call names at once. Errors: INVALID_ARGUMENT not 1 to 1000 ids, or one
// that has not 1 to kUserIdBytesMax bytes; it names positions, never an id.
absl::Status CheckUserIds(std::span<const std::string> ids);

// Ids, and numbers instead of values and friends: no more memory than the messages. Not
// thread-safe.
class UserBatch {
 public:
  // The declared groups, which must outlive it.
  explicit UserBatch(const std::vector<std::string>& groups);
  // For a graph's model: each user has a node below `nodes`, and no groups.
  static UserBatch OfNodes(int nodes);
  // The one value that such a user is stored with, between text and number; -1 is no node.
  static int NodeOf(std::string_view value, int nodes);

  // Errors: INVALID_ARGUMENT on the id's length, an id that is there before, a group that is not
  // declared, a value, a friend; they name positions, never an id.
  absl::Status Add(const v1::User& user);

  // A user as a file of this project has it, one value per group. Errors: as Add.
  absl::Status AddStored(std::string_view id, std::span<const std::string_view> values);

  std::size_t size() const { return users_.ids.size(); }
  std::size_t groups() const { return users_.names.size(); }
  EffectKey key(std::size_t user) const { return keys_[user]; }
  // In the order of the declared groups.
  const UserGroups& users() const { return users_; }
  // No friend twice.
  std::span<const EffectKey> friends(std::size_t user) const;
  bool HasValue(std::size_t user, std::size_t group) const {
    return users_.cell(user, group) != UserGroups::kNone;
  }
  void SetValue(std::size_t user, std::size_t group, std::string_view value);
  // Its approximate size.
  std::size_t bytes() const;

 private:
  // One value per group, empty for none.
  void AddChecked(std::string_view id, std::span<const std::string_view> values);
  absl::Status AddFriends(const v1::User& user);

  // Errors: INVALID_ARGUMENT.
  absl::Status CheckNew(const std::string& field, std::string_view id) const;
  absl::StatusOr<std::vector<std::string_view>> ValuesOf(const std::string& field,
                                                         const v1::User& user,
                                                         std::string& node) const;
  absl::Status CheckNode(bool given, std::uint64_t node) const;

  int nodes_ = 0;  // 0: users have groups
  UserGroups users_;
  std::vector<EffectKey> keys_;
  std::vector<EffectKey> friends_;
  std::vector<std::size_t> friends_end_;  // per user
  // The texts that the views point into.
  std::deque<std::string> texts_;
  std::vector<absl::flat_hash_map<std::string_view, std::uint32_t>> positions_;  // per group
  absl::flat_hash_set<EffectKey> seen_;
  std::size_t text_bytes_ = 0;
};

}  // namespace bandana::server

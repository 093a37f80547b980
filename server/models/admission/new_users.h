// Users that become nodes when they are first seen, in the order of the log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/model/entries/user_index.h"

namespace bandana::server {

// Who is new stands with Commit or falls with Rollback. An event names its node, or its user where
// users have nodes of their own. Not thread-safe.
class NewUsers {
 public:
  // `known` must outlive the object, and gets who is new at a Commit.
  NewUsers(UserIndex& known, int users_max) : known_(known), users_max_(users_max) {}

  // -1: a user not seen yet.
  int NodeOf(std::int32_t node, std::string_view user) const;
  // The next free one for a user not seen yet; -1 where users_max forbids, which nodes of deleted
  // users do not count against, or kIndependentNodesMax, which they do.
  int NodeOrNext(std::int32_t node, std::string_view user) const;
  // A user who may be known, as NodeOrNext says.
  void Admit(int node, std::string_view user);

  void Commit();
  void Rollback();

 private:
  UserIndex& known_;
  const int users_max_;
  absl::flat_hash_map<std::string, int> nodes_;
  std::vector<std::string> order_;
};

}  // namespace bandana::server

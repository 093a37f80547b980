// Which values of groups a change of users gives up or takes up again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "common/ranking/effect_key.h"
#include "server/models/freeing/leaving_keys.h"
#include "server/models/users/known_users.h"
#include "server/models/users/user_rows.h"

namespace bandana::server {

// Counted before the change, which must be the next one of `known`. Not thread-safe.
class GroupChange {
 public:
  // `names`: of the groups of `known`. Both must outlive it.
  GroupChange(const KnownUsers& known, const std::vector<std::string>& names);

  // The user gives up its values, where it is known. No user twice.
  void Leave(EffectKey user);
  // The users of the rows have these values afterwards. The texts must outlive it.
  void Join(UserRows& rows);
  // Keys of values that nobody has afterwards. `with_returned`: and of those that somebody has
  // again, or for the first time.
  KeyChange Keys(absl::Time now, bool with_returned) const;

 private:
  const KnownUsers& known_;
  const std::vector<std::string>& names_;
  // By group: how many give up the value, by its number; and which values are taken up.
  std::vector<std::vector<std::uint32_t>> left_;
  std::vector<absl::flat_hash_set<std::string_view>> joined_;
};

}  // namespace bandana::server

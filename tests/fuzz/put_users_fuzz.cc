// The users that PutUsers takes from the wire, as bytes, for a model with two groups.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bandana/v1/admin.pb.h"
#include "common/base/check.h"
#include "common/base/limits.h"
#include "server/models/users/friends.h"
#include "server/models/users/user_rows.h"

using bandana::server::JoinFriends;
using bandana::server::KnownUsers;
using bandana::server::UserBatch;
using bandana::server::UserRows;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto& groups = *new std::vector<std::string>{"country", "plan"};
  bandana::v1::PutUsersRequest request;
  if (!request.ParseFromArray(data, static_cast<int>(size))) return 0;
  // Everybody is put twice: those of the first time are friends the second time.
  KnownUsers known(groups);
  for (int time = 0; time < 2; ++time) {
    UserBatch batch(groups);
    for (const bandana::v1::User& user : request.users()) {
      if (!batch.Add(user).ok()) return 0;
    }
    JoinFriends(known, batch);
    auto rows = UserRows::Of(batch.users(), groups);
    BANDANA_CHECK(rows.ok() && rows->size() == batch.size());
    for (std::size_t i = 0; i < rows->size(); ++i) {
      BANDANA_CHECK(rows->id(i).size() <= bandana::kUserIdBytesMax);
      for (const std::string_view value : rows->Row(i)) {
        BANDANA_CHECK(value.size() <= bandana::kGroupValueBytesMax);
      }
      known.Set(batch.key(i), rows->Row(i));
      BANDANA_CHECK(known.Contains(batch.key(i)));
    }
    BANDANA_CHECK(known.size() == batch.size());
  }
  return 0;
}

// The users of a model with effects and the groups that they are in, in memory and on disk, changed
// together.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/v1/admin.pb.h"
#include "common/bandits/effects/effect_key.h"
#include "common/base/byte_sink.h"
#include "common/base/clock.h"
#include "common/design/model_spec.h"
#include "server/models/freeing/leaving_keys.h"
#include "server/models/users/user_batch.h"

namespace bandana::server {

// Threads: safe. Parts and FillStats wait for nobody's disk.
class UserTable {
 public:
  // The table of a model with groups of users: the stored users, then the users file where it is
  // due. Of any other model, one without users and without a file. `spec` and `clock`, of which
  // only the times come since when groups are empty, must outlive it. Errors: DATA_LOSS;
  // UNAVAILABLE I/O; INVALID_ARGUMENT or NOT_FOUND the users file. `warn` is told once when users
  // or the values of a group come near their limit.
  using Warn = std::function<void(const std::string&)>;
  static absl::StatusOr<std::unique_ptr<UserTable>> Open(
      const ModelSpec& spec, const std::string& path, Warn warn = [](const std::string&) {},
      const Clock& clock = SystemClock());
  virtual ~UserTable() = default;

  // As HostedModel's methods.
  virtual void Parts(std::string_view user, std::vector<EffectKey>& out) const = 0;
  virtual absl::StatusOr<UserBatch> NewBatch() const = 0;
  virtual absl::Status Put(UserBatch& batch, v1::PutUsersResponse* response) = 0;
  // Forgets the groups of users, durably on return, and answers whose it were; an id may be there
  // twice. Errors: FAILED_PRECONDITION a model that knows nothing of single users;
  // RESOURCE_EXHAUSTED the disk is full; UNAVAILABLE I/O.
  virtual absl::StatusOr<std::vector<EffectKey>> Remove(std::span<const std::string> ids) = 0;
  // Whose groups are kept.
  virtual std::size_t size() const = 0;
  // Values of groups that nobody is in any more; null where there are no groups.
  virtual LeavingKeys* leaving() = 0;

  // The text of a value that somebody has, for what people read; else empty. Goes over the values
  // of the group. `group`: position among the declared ones.
  virtual std::string ValueName(std::size_t group, EffectKey key) const = 0;
  virtual void FillStats(v1::GetStatsResponse& stats) const = 0;
  // Whether users are in groups, so that an export has users.
  virtual bool has_groups() const = 0;
  // All users, for an export; nothing where they are in no groups. Users who are put meanwhile
  // wait. Errors: DATA_LOSS, UNAVAILABLE the file; those of `sink`.
  virtual absl::Status Encode(const ByteSink& sink) = 0;
};

}  // namespace bandana::server

// The users whom a model knows, and what it was told of them: groups (models with effects) or nodes
// (models with a graph), in memory and on disk, changed together.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/v1/admin.pb.h"
#include "common/base/byte_sink.h"
#include "common/base/clock.h"
#include "common/design/model_spec.h"
#include "common/model/entries/user_index.h"
#include "common/ranking/effect_key.h"
#include "server/log/state/folder_state.h"
#include "server/models/freeing/leaving_keys.h"
#include "server/models/users/user_batch.h"

namespace bandana::server {

// Threads: safe. Parts and FillStats wait for nobody's disk.
class UserTable {
 public:
  // The table of a model with groups of users: the stored users, then the users file where it is
  // due. Of a graph's model: the users who were put. Of independent users: those of `seen`. Of any
  // other model, one without users, which makes no table there. `spec`, `seen` and `clock`, of
  // which only the times come since when groups are empty, must outlive it. Errors: DATA_LOSS;
  // UNAVAILABLE I/O; INVALID_ARGUMENT or NOT_FOUND the users file. `warn` is told once when users
  // or the values of a group come near their limit.
  using Warn = std::function<void(const std::string&)>;
  static absl::StatusOr<std::unique_ptr<UserTable>> Open(
      const ModelSpec& spec, const TablePlace& place, const UserIndex& seen,
      Warn warn = [](const std::string&) {}, const Clock& clock = SystemClock());
  // In a SQLite file.
  static absl::StatusOr<std::unique_ptr<UserTable>> Open(
      const ModelSpec& spec, const std::string& path, const UserIndex& seen,
      Warn warn = [](const std::string&) {}, const Clock& clock = SystemClock()) {
    return Open(spec, SqliteTableAt(TableKind::kUsers, path), seen, std::move(warn), clock);
  }
  virtual ~UserTable() = default;

  // How many users the table of such a model may have.
  static int UsersMax(const ModelSpec& spec);

  // As HostedModel's methods.
  virtual void Parts(std::string_view /*user*/, std::vector<EffectKey>& out) const { out.clear(); }
  // The node that the user was put to, -1 for others. Costs nothing while nobody was.
  virtual int NodeOf(std::string_view /*user*/) const { return -1; }
  virtual absl::StatusOr<UserBatch> NewBatch() const = 0;
  virtual absl::Status Put(UserBatch& batch, v1::PutUsersResponse* response) = 0;
  // The users whose ids are greater than `after`, at most `limit`, in order of their ids. Errors:
  // FAILED_PRECONDITION a model that has no ids; DATA_LOSS, UNAVAILABLE the store.
  virtual absl::StatusOr<std::vector<v1::User>> List(std::string_view after,
                                                     std::size_t limit) const = 0;
  // Fills in everything kept of the user here; false: nothing. Errors: the same, and a model that
  // knows nothing of single users.
  virtual absl::StatusOr<bool> Fill(std::string_view id, v1::User& user) const = 0;
  // Whether nobody else has the node that serves the user, now and before.
  virtual bool owns_node(std::string_view /*id*/) const { return false; }

  // Whether these users may be deleted. Errors: FAILED_PRECONDITION a model that knows nothing of
  // single users, or one whose configuration names the user.
  virtual absl::Status CheckDelete(std::span<const std::string> ids) const = 0;
  // Whether a deletion is an entry of the log; else the entries name no user.
  virtual bool deletes_by_entry() const { return false; }
  // Forgets the groups of users, durably on return, and answers whose it were; an id may be there
  // twice. Of those whom only the log knows it answers alone. Errors: RESOURCE_EXHAUSTED the disk
  // is full; UNAVAILABLE I/O.
  virtual absl::StatusOr<std::vector<EffectKey>> Remove(std::span<const std::string> ids) = 0;
  // Whose groups are kept.
  virtual std::size_t size() const { return 0; }
  // Values of groups that nobody is in any more; null where there are no groups.
  virtual LeavingKeys* leaving() { return nullptr; }

  // The text of a value that somebody has, for what people read; else empty. Goes over the values
  // of the group. `group`: position among the declared ones.
  virtual std::string ValueName(std::size_t /*group*/, EffectKey /*key*/) const { return ""; }
  virtual void FillStats(v1::GetStatsResponse&) const {}
  // Whether an export has users.
  virtual bool has_users() const { return false; }
  // All users, for an export; nothing where it has none. Users who are put meanwhile
  // wait. Errors: DATA_LOSS, UNAVAILABLE the store; those of `sink`.
  virtual absl::Status Encode(const ByteSink&) { return absl::OkStatus(); }
};

// As HostedModel::ResolveUser, of a model with these tables.
absl::StatusOr<int> ResolveIn(const ModelSpec& spec, const UserTable& put, const UserIndex& seen,
                              std::string_view user);

}  // namespace bandana::server

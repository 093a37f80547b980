#include "server/models/users/user_table.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/base/utf8.h"
#include "common/design/coupling_table.h"
#include "common/design/files/users_tsv.h"
#include "common/design/model_spec.h"
#include "common/design/user_nodes.h"
#include "common/ranking/effect_key.h"
#include "server/models/freeing/leaving_keys.h"
#include "server/models/users/friends.h"
#include "server/models/users/known_users.h"
#include "server/models/users/node_table.h"
#include "server/models/users/user_copy.h"
#include "server/models/users/user_rows.h"
#include "server/models/users/user_store.h"

namespace bandana::server {
namespace {

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

GroupChange::GroupChange(const KnownUsers& known, const std::vector<std::string>& names)
    : known_(known), names_(names), left_(names.size()), joined_(names.size()) {
  for (std::size_t g = 0; g < names.size(); ++g) left_[g].resize(known.ValuesOf(g).numbers());
}

void GroupChange::Leave(EffectKey user) {
  const std::span<const std::uint32_t> numbers = known_.Numbers(user);
  for (std::size_t g = 0; g < numbers.size(); ++g) ++left_[g][numbers[g]];
}

void GroupChange::Join(UserRows& rows) {
  for (std::size_t user = 0; user < rows.size(); ++user) {
    for (std::size_t g = 0; g < rows.groups(); ++g) {
      const std::string_view value = rows.value(user, g);
      if (!value.empty()) joined_[g].insert(value);
    }
  }
}

KeyChange GroupChange::Keys(absl::Time now, bool with_returned) const {
  KeyChange change{.returned = {}, .left = {}, .now = now};
  for (std::size_t g = 0; g < names_.size(); ++g) {
    const GroupValues& values = known_.ValuesOf(g);
    for (std::uint32_t number = 1; number < left_[g].size(); ++number) {
      const std::uint32_t left = left_[g][number];
      if (left == 0 || left < values.users(number)) continue;
      if (!joined_[g].contains(values.text(number))) change.left.push_back(values.key(number));
    }
    if (!with_returned) continue;
    for (const std::string_view value : joined_[g]) {
      if (values.Find(value) == GroupValues::kNone) {
        change.returned.push_back(GroupKey(names_[g], value));
      }
    }
  }
  return change;
}

// The users of an independent model: those who had an event.
class SeenUsers final : public UserTable {
 public:
  SeenUsers(const ModelSpec& spec, const UserIndex& seen)
      : refusal_(FailedPrecondition("model ", spec.public_spec.name,
                                    " has neither groups of users nor a graph: a user of an "
                                    "independent model is known from the first event on")),
        seen_(seen) {}

  absl::StatusOr<UserBatch> NewBatch() const override { return refusal_; }
  absl::Status Put(UserBatch&, v1::PutUsersResponse*) override { return refusal_; }

  absl::StatusOr<std::vector<v1::User>> List(std::string_view after,
                                             std::size_t limit) const override {
    std::priority_queue<std::string> least;  // the greatest of them first
    const int size = seen_.size();
    for (int node = 0; node < size; ++node) {
      std::string id = seen_.Name(node);
      if (id.empty() || id <= after) continue;
      if (least.size() == limit && id >= least.top()) continue;
      if (least.size() == limit) least.pop();
      least.push(std::move(id));
    }
    std::vector<v1::User> users(least.size());
    for (auto user = users.rbegin(); user != users.rend(); ++user) {
      user->set_id(least.top());
      least.pop();
    }
    return users;
  }

  absl::StatusOr<bool> Fill(std::string_view id, v1::User& user) const override {
    if (seen_.Find(id) < 0) return false;
    user.set_id(std::string(id));
    return true;
  }
  bool owns_node(std::string_view id) const override { return seen_.Find(id) >= 0; }

  absl::Status CheckDelete(std::span<const std::string>) const override { return absl::OkStatus(); }
  bool deletes_by_entry() const override { return true; }
  absl::StatusOr<std::vector<EffectKey>> Remove(std::span<const std::string> ids) override {
    absl::flat_hash_set<EffectKey> known;
    for (const std::string& id : ids) {
      if (seen_.Find(id) >= 0) known.insert(UserKey(id));
    }
    return std::vector<EffectKey>(known.begin(), known.end());
  }
  std::size_t size() const override {
    return static_cast<std::size_t>(seen_.size()) - seen_.removed();
  }

 private:
  const absl::Status refusal_;
  const UserIndex& seen_;
};

// Nobody can be put; a list goes over all users, some 0.1 s per million and page. `seen` must
// outlive it.
std::unique_ptr<UserTable> MakeSeenUsers(const ModelSpec& spec, const UserIndex& seen) {
  return std::make_unique<SeenUsers>(spec, seen);
}

// For models whose users are in no groups.
class NoTable final : public UserTable {
 public:
  // `why`: the end of a sentence. With `has_user`, effects may be of the user alone, and with
  // `learns_user` some are.
  NoTable(const ModelSpec& spec, const std::string& why, bool has_user, bool learns_user)
      : refusal_(
            FailedPrecondition("model ", spec.public_spec.name, " has no groups of users: ", why)),
        no_ids_(
            FailedPrecondition("model ", spec.public_spec.name, " keeps no ids of users: ", why)),
        nothing_known_(FailedPrecondition("model ", spec.public_spec.name,
                                          " knows nothing of single users: ", why)),
        has_user_(has_user),
        learns_user_(learns_user) {}

  void Parts(std::string_view user, std::vector<EffectKey>& out) const override {
    out.clear();
    if (has_user_) out.push_back(UserKey(user));
  }
  absl::StatusOr<UserBatch> NewBatch() const override { return refusal_; }
  absl::Status Put(UserBatch&, v1::PutUsersResponse*) override { return refusal_; }
  absl::StatusOr<std::vector<v1::User>> List(std::string_view, std::size_t) const override {
    return no_ids_;
  }
  absl::StatusOr<bool> Fill(std::string_view, v1::User&) const override {
    if (!learns_user_) return nothing_known_;
    return false;
  }
  absl::Status CheckDelete(std::span<const std::string>) const override {
    return learns_user_ ? absl::OkStatus() : nothing_known_;
  }
  bool deletes_by_entry() const override { return true; }
  absl::StatusOr<std::vector<EffectKey>> Remove(std::span<const std::string>) override {
    return std::vector<EffectKey>();
  }

 private:
  const absl::Status refusal_;
  const absl::Status no_ids_;
  const absl::Status nothing_known_;
  const bool has_user_;
  const bool learns_user_;
};

class Table final : public UserTable {
 public:
  Table(const EffectsSpec& spec, UserStore store, Warn warn, const Clock& clock)
      : spec_(spec),
        warn_(std::move(warn)),
        clock_(clock),
        known_(spec.user_groups),
        store_(std::move(store)),
        leaving_(spec.free_after, mutex_, store_.table()) {}

  absl::Status LoadStored() {
    BANDANA_RETURN_IF_ERROR(LoadUsers());
    absl::flat_hash_set<EffectKey> in_use;
    for (std::size_t g = 0; g < known_.groups(); ++g) known_.ValuesOf(g).AddKeys(in_use);
    return leaving_.Load([&](EffectKey key) { return in_use.contains(key); });
  }

  absl::Status LoadUsers() {
    std::uint64_t nameless = 0;
    BANDANA_RETURN_IF_ERROR(store_.ForEach([&](std::string_view id, auto values) -> absl::Status {
      if (!IsUtf8(id)) ++nameless;
      if (values.size() != known_.groups()) return DataLoss("a user with other groups");
      for (std::size_t g = 0; g < values.size(); ++g) {
        if (known_.values(g) < kGroupValuesMax || values[g].empty()) continue;
        if (known_.ValuesOf(g).Find(values[g]) != GroupValues::kNone) continue;
        return DataLoss("more values of one group than there may be");
      }
      known_.Set(UserKey(id), values);
      return absl::OkStatus();
    }));
    // Former versions took ids from files as they were.
    if (nameless > 0) {
      warn_(absl::StrCat("users: ", nameless,
                         " of them have ids that are no UTF-8: no call can name them, and they are "
                         "not listed"));
    }
    return absl::OkStatus();
  }

  absl::Status LoadFile() {
    if (spec_.users_file.empty()) return absl::OkStatus();
    BANDANA_ASSIGN_OR_RETURN(const std::string text,
                             ReadFile(spec_.users_file, kUserGroupsFileBytesMax));
    const Sha256Digest digest = Sha256Of(text);
    if (digest == store_.file()) return absl::OkStatus();
    BANDANA_ASSIGN_OR_RETURN(const UserGroups users,
                             ParseUserGroupsTsv(text, static_cast<std::uint64_t>(spec_.users_max)));
    return PutAll(users, digest).status();
  }

  void Parts(std::string_view user, std::vector<EffectKey>& out) const override {
    out.resize(1 + known_.groups());
    out[0] = UserKey(user);
    if (known_.Parts(out[0], std::span(out).subspan(1))) return;
    unknown_.fetch_add(1, std::memory_order_relaxed);
  }

  absl::StatusOr<UserBatch> NewBatch() const override { return UserBatch(spec_.user_groups); }

  absl::Status Put(UserBatch& batch, v1::PutUsersResponse* response) override {
    const std::lock_guard lock(mutex_);
    JoinFriends(known_, batch);
    BANDANA_ASSIGN_OR_RETURN(const std::uint64_t added, PutAll(batch.users(), store_.file()));
    response->set_added(static_cast<std::uint32_t>(added));
    response->set_replaced(static_cast<std::uint32_t>(batch.size() - added));
    response->set_users(static_cast<std::uint32_t>(known_.size()));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<v1::User>> List(std::string_view after,
                                             std::size_t limit) const override {
    const std::lock_guard lock(mutex_);
    std::vector<v1::User> users;
    std::string last(after);
    while (users.size() < limit) {
      const std::size_t wanted = limit - users.size();
      std::size_t seen = 0;
      std::string next;
      BANDANA_RETURN_IF_ERROR(
          store_.ForEachAfter(last, wanted, [&](std::string_view id, auto values) {
            ++seen;
            next = id;
            if (IsUtf8(id)) SetUser(id, values, users.emplace_back());
            return absl::OkStatus();
          }));
      if (seen < wanted) break;
      last = std::move(next);
    }
    return users;
  }

  absl::StatusOr<bool> Fill(std::string_view id, v1::User& user) const override {
    const std::lock_guard lock(mutex_);
    bool known = false;
    BANDANA_RETURN_IF_ERROR(store_.ForOne(id, [&](std::string_view found, auto values) {
      SetUser(found, values, user);
      known = true;
      return absl::OkStatus();
    }));
    return known;
  }

  absl::Status CheckDelete(std::span<const std::string>) const override { return absl::OkStatus(); }
  bool deletes_by_entry() const override { return true; }

  absl::StatusOr<std::vector<EffectKey>> Remove(std::span<const std::string> ids) override {
    const std::lock_guard lock(mutex_);
    GroupChange change(known_, spec_.user_groups);
    std::vector<EffectKey> removed;
    std::vector<std::string_view> stored;
    absl::flat_hash_set<EffectKey> seen;
    for (const std::string& id : ids) {
      const EffectKey key = UserKey(id);
      if (!known_.Contains(key) || !seen.insert(key).second) continue;
      change.Leave(key);
      removed.push_back(key);
      stored.push_back(id);
    }
    if (removed.empty()) return removed;
    const KeyChange keys = change.Keys(clock_.Now(), /*with_returned=*/false);
    BANDANA_RETURN_IF_ERROR(store_.Remove(stored, keys).status());
    for (const EffectKey key : removed) known_.Remove(key);
    BANDANA_RETURN_IF_ERROR(leaving_.Update());
    return removed;
  }

  std::size_t size() const override { return known_.size(); }
  LeavingKeys* leaving() override { return &leaving_; }

  // While users are put no value has a name, so that nobody waits for the disk.
  std::string ValueName(std::size_t group, EffectKey key) const override {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    return lock ? known_.ValuesOf(group).TextOf(key) : "";
  }

  void FillStats(v1::GetStatsResponse& stats) const override {
    v1::UserGroupsStats& groups = *stats.mutable_user_groups();
    groups.set_users(known_.size());
    groups.set_decisions_without_groups(unknown_.load(std::memory_order_relaxed));
    for (std::size_t g = 0; g < known_.groups(); ++g) {
      (*groups.mutable_values())[spec_.user_groups[g]] = known_.values(g);
    }
  }

  bool has_users() const override { return true; }
  absl::Status Encode(const ByteSink& sink) override {
    const std::lock_guard lock(mutex_);
    return EncodeUsers(store_, sink);
  }

 private:
  void SetUser(std::string_view id, std::span<const std::string_view> values,
               v1::User& user) const {
    user.set_id(std::string(id));
    for (std::size_t g = 0; g < values.size() && g < spec_.user_groups.size(); ++g) {
      if (values[g].empty()) continue;
      (*user.mutable_groups())[spec_.user_groups[g]] = std::string(values[g]);
    }
  }

  // Durable first, then visible. Returns how many were added.
  absl::StatusOr<std::uint64_t> PutAll(const UserGroups& users, const Sha256Digest& file) {
    BANDANA_ASSIGN_OR_RETURN(UserRows rows, UserRows::Of(users, spec_.user_groups));
    std::vector<EffectKey> keys(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) keys[i] = UserKey(rows.id(i));
    BANDANA_RETURN_IF_ERROR(CheckSize(keys));
    BANDANA_RETURN_IF_ERROR(CheckValues(rows));
    const auto all = [&](UserStore::Take take) { return rows.ForEach(take); };
    GroupChange change(known_, spec_.user_groups);
    for (const EffectKey key : keys) change.Leave(key);
    change.Join(rows);
    const KeyChange values = change.Keys(clock_.Now(), leaving_.any());
    BANDANA_ASSIGN_OR_RETURN(const std::uint64_t added, store_.Put(all, file, values));
    for (std::size_t i = 0; i < rows.size(); ++i) known_.Set(keys[i], rows.Row(i));
    BANDANA_RETURN_IF_ERROR(leaving_.Update());
    WarnNearLimits();
    return added;
  }

  void WarnNearLimits() {
    const auto near = [](std::uint64_t count, std::uint64_t max) {
      return count >= max - max / 10;
    };
    const auto users_max = static_cast<std::uint64_t>(spec_.users_max);
    if (near(known_.size(), users_max) && !std::exchange(warned_of_users_, true)) {
      warn_(absl::StrCat("users: the groups of ", known_.size(), " are kept, users_max is ",
                         users_max));
    }
    for (std::size_t g = 0; g < known_.groups(); ++g) {
      if (!near(known_.values(g), kGroupValuesMax) || warned_of_values_) continue;
      warned_of_values_ = true;
      warn_(absl::StrCat("users: the group ", spec_.user_groups[g], " has ", known_.values(g),
                         " values, there may be ", kGroupValuesMax));
    }
  }

  absl::Status CheckSize(std::span<const EffectKey> keys) const {
    std::size_t size = known_.size();
    for (const EffectKey key : keys) size += known_.Contains(key) ? 0 : 1;
    if (size == known_.size() || size <= static_cast<std::size_t>(spec_.users_max))
      return absl::OkStatus();
    return FailedPrecondition("the groups of ", known_.size(), " users are kept and would be of ",
                              size, ", users_max is ", spec_.users_max);
  }

  absl::Status CheckValues(const UserRows& rows) const {
    for (std::size_t g = 0; g < known_.groups(); ++g) {
      std::size_t values = known_.values(g);
      for (const std::string_view value : rows.values(g)) {
        values += known_.ValuesOf(g).Find(value) == GroupValues::kNone ? 1 : 0;
      }
      if (values <= kGroupValuesMax) continue;
      return FailedPrecondition("the group ", spec_.user_groups[g], " has ", known_.values(g),
                                " values and would have ", values, ", there may be ",
                                kGroupValuesMax);
    }
    return absl::OkStatus();
  }

  const EffectsSpec& spec_;
  const Warn warn_;
  bool warned_of_users_ = false;
  bool warned_of_values_ = false;
  const Clock& clock_;
  KnownUsers known_;
  mutable std::atomic<std::uint64_t> unknown_ = 0;
  mutable std::mutex mutex_;  // for the store and the order of changes
  mutable UserStore store_;
  LeavingKeys leaving_;
};

// Users of a model without effects, by what its nodes are.
absl::StatusOr<std::unique_ptr<UserTable>> OpenOfNodes(const ModelSpec& spec,
                                                       const TablePlace& place,
                                                       const UserIndex& seen) {
  switch (UserNodesOf(spec).known()) {
    case UserNodes::Known::kSeen:
      return MakeSeenUsers(spec, seen);
    case UserNodes::Known::kPut:
      return OpenNodeTable(spec, place);
    case UserNodes::Known::kNobody:
      break;
  }
  const std::string_view coupling = CouplingOf(spec.config).name;
  return std::make_unique<NoTable>(spec, absl::StrCat("its coupling is ", ToAbsl(coupling)),
                                   /*has_user=*/false, /*learns_user=*/false);
}

bool LearnsUser(const EffectsSpec& spec) {
  return std::any_of(spec.terms.begin(), spec.terms.end(),
                     [](const EffectTerm& term) { return term.scope.user == 0; });
}

}  // namespace

int UserTable::UsersMax(const ModelSpec& spec) {
  if (spec.effects) return spec.effects->users_max;
  return UserNodesOf(spec).known() == UserNodes::Known::kPut ? kGraphUsersMax : 0;
}

absl::StatusOr<std::unique_ptr<UserTable>> UserTable::Open(const ModelSpec& spec,
                                                           const TablePlace& place,
                                                           const UserIndex& seen, Warn warn,
                                                           const Clock& clock) {
  if (!spec.effects) return OpenOfNodes(spec, place, seen);
  if (spec.effects->user_groups.empty()) {
    const bool learns = LearnsUser(*spec.effects);
    const char* why = learns ? "its user_groups is empty"
                             : "its user_groups is empty, and no effect is of the user";
    return std::make_unique<NoTable>(spec, why, /*has_user=*/true, learns);
  }
  BANDANA_ASSIGN_OR_RETURN(UserStore store, UserStore::Open(place));
  auto table = std::make_unique<Table>(*spec.effects, std::move(store), std::move(warn), clock);
  BANDANA_RETURN_IF_ERROR(Annotate(table->LoadStored(), place.where));
  BANDANA_RETURN_IF_ERROR(Annotate(table->LoadFile(), spec.effects->users_file));
  return table;
}

absl::StatusOr<int> ResolveIn(const ModelSpec& spec, const UserTable& put, const UserIndex& seen,
                              std::string_view user) {
  if (user.empty() || user.size() > kUserIdBytesMax) {
    return InvalidArgument("user: must have 1 to ", kUserIdBytesMax, " bytes, got ", user.size());
  }
  return UserNodesOf(spec).Resolve(spec, user, [&](std::string_view id) {
    const int node = put.NodeOf(id);
    return node >= 0 ? node : seen.Find(id);
  });
}

}  // namespace bandana::server

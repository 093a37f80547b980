#include "server/models/users/user_table.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>

#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/wire/users_tsv.h"
#include "server/models/users/known_users.h"
#include "server/models/users/user_rows.h"
#include "server/models/users/user_store.h"

namespace bandana::server {
namespace {

// Ten million users with 32 groups.
constexpr std::uint64_t kFileBytesMax = std::uint64_t{8} << 30;

class NoTable final : public UserTable {
 public:
  void Parts(std::string_view, std::vector<EffectKey>& out) const override { out.clear(); }
};

class Table final : public UserTable {
 public:
  Table(const EffectsSpec& spec, UserStore store)
      : spec_(spec), known_(spec.user_groups), store_(std::move(store)) {}

  absl::Status Load() {
    BANDANA_RETURN_IF_ERROR(
        store_.ForEach(known_.groups(), [&](std::string_view id, auto values) -> absl::Status {
          for (std::size_t g = 0; g < values.size(); ++g) {
            if (known_.values(g) < kGroupValuesMax || values[g].empty()) continue;
            return DataLoss("more values of one group than there may be");
          }
          known_.Set(UserKey(id), values);
          return absl::OkStatus();
        }));
    return Annotate(LoadFile(), spec_.users_file);
  }

  void Parts(std::string_view user, std::vector<EffectKey>& out) const override {
    out.resize(1 + known_.groups());
    out[0] = UserKey(user);
    if (known_.Parts(out[0], std::span(out).subspan(1))) return;
    unknown_.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  absl::Status LoadFile() {
    if (spec_.users_file.empty()) return absl::OkStatus();
    BANDANA_ASSIGN_OR_RETURN(const std::string text, ReadFile(spec_.users_file, kFileBytesMax));
    const Sha256Digest digest = Sha256Of(text);
    if (digest == store_.file() && known_.size() > 0) return absl::OkStatus();
    BANDANA_ASSIGN_OR_RETURN(const UserGroups users,
                             ParseUserGroupsTsv(text, static_cast<std::uint64_t>(spec_.users_max)));
    BANDANA_ASSIGN_OR_RETURN(UserRows rows, UserRows::Of(users, spec_.user_groups));
    return Put(rows, digest).status();
  }

  // Durable first, then visible. Returns how many were added.
  absl::StatusOr<std::uint64_t> Put(UserRows& rows, const Sha256Digest& file) {
    std::vector<EffectKey> keys(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) keys[i] = UserKey(rows.id(i));
    BANDANA_RETURN_IF_ERROR(CheckSize(keys));
    BANDANA_RETURN_IF_ERROR(CheckValues(rows));
    BANDANA_ASSIGN_OR_RETURN(const std::uint64_t added, store_.Put(rows, file));
    for (std::size_t i = 0; i < rows.size(); ++i) known_.Set(keys[i], rows.Row(i));
    return added;
  }

  absl::Status CheckSize(std::span<const EffectKey> keys) const {
    std::size_t size = known_.size();
    for (const EffectKey key : keys) size += known_.Contains(key) ? 0 : 1;
    if (size <= static_cast<std::size_t>(spec_.users_max)) return absl::OkStatus();
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
  KnownUsers known_;
  mutable std::atomic<std::uint64_t> unknown_ = 0;
  std::mutex mutex_;  // for the store and the order of changes
  UserStore store_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<UserTable>> UserTable::Open(const ModelSpec& spec,
                                                           const std::string& path) {
  if (!spec.effects) return std::make_unique<NoTable>();
  BANDANA_ASSIGN_OR_RETURN(UserStore store, UserStore::Open(path));
  auto table = std::make_unique<Table>(*spec.effects, std::move(store));
  BANDANA_RETURN_IF_ERROR(table->Load());
  return table;
}

}  // namespace bandana::server

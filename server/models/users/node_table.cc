#include "server/models/users/node_table.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/user_nodes.h"
#include "server/models/users/kept_nodes.h"
#include "server/models/users/user_copy.h"
#include "server/models/users/user_rows.h"
#include "server/models/users/user_store.h"

namespace bandana::server {
namespace {

class NodeTable final : public UserTable {
 public:
  NodeTable(const ModelSpec& spec, TablePlace place) : spec_(spec), place_(std::move(place)) {}

  absl::Status Load() {
    BANDANA_ASSIGN_OR_RETURN(const bool exists, place_.exists());
    if (!exists) return absl::OkStatus();
    BANDANA_RETURN_IF_ERROR(OpenStore());
    absl::Status loaded = store_->ForEach([&](std::string_view id, auto values) -> absl::Status {
      const int node = values.size() == 1 ? UserBatch::NodeOf(values[0], nodes()) : -1;
      if (node < 0) return DataLoss("a user without a node of the graph");
      put_[UserKey(id)] = node;
      return absl::OkStatus();
    });
    size_ = put_.size();
    return Annotate(loaded, place_.where);
  }

  int NodeOf(std::string_view user) const override {
    if (size_.load(std::memory_order_acquire) == 0) return -1;
    const EffectKey key = UserKey(user);
    const std::shared_lock lock(put_mutex_);
    const auto found = put_.find(key);
    return found == put_.end() ? -1 : found->second;
  }

  absl::StatusOr<UserBatch> NewBatch() const override { return UserBatch::OfNodes(nodes()); }

  absl::Status Put(UserBatch& batch, v1::PutUsersResponse* response) override {
    const std::lock_guard lock(mutex_);
    BANDANA_ASSIGN_OR_RETURN(UserRows rows, UserRows::Of(batch.users(), {"node"}));
    std::size_t added = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      added += NodeOf(rows.id(i)) < 0 ? 1 : 0;
      BANDANA_RETURN_IF_ERROR(CheckKeepsNode(spec_, absl::StrCat("users[", i, "].node"),
                                             Present(rows.id(i)), NodeOfRow(rows, i)));
    }
    if (added > 0 && size() + added > kGraphUsersMax) {
      return FailedPrecondition("the nodes of ", size(), " users are kept and would be of ",
                                size() + added, ", there may be ", kGraphUsersMax);
    }
    BANDANA_RETURN_IF_ERROR(OpenStore());
    const auto all = [&](UserStore::Take take) { return rows.ForEach(take); };
    BANDANA_RETURN_IF_ERROR(store_->Put(all, store_->file()).status());
    {
      const std::unique_lock writing(put_mutex_);
      for (std::size_t i = 0; i < rows.size(); ++i) put_[batch.key(i)] = NodeOfRow(rows, i);
      size_.store(put_.size(), std::memory_order_release);
    }
    response->set_added(static_cast<std::uint32_t>(added));
    response->set_replaced(static_cast<std::uint32_t>(rows.size() - added));
    response->set_users(static_cast<std::uint32_t>(size()));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<v1::User>> List(std::string_view after,
                                             std::size_t limit) const override {
    const std::lock_guard lock(mutex_);
    std::vector<v1::User> users;
    for (const auto& [id, node] : spec_.users) {
      if (id > after && NodeOf(id) < 0) SetUser(id, node, users.emplace_back());
    }
    if (store_) {
      BANDANA_RETURN_IF_ERROR(store_->ForEachAfter(after, limit, [&](std::string_view id, auto) {
        SetUser(id, NodeOf(id), users.emplace_back());
        return absl::OkStatus();
      }));
    }
    std::sort(users.begin(), users.end(),
              [](const v1::User& a, const v1::User& b) { return a.id() < b.id(); });
    if (users.size() > limit) users.resize(limit);
    return users;
  }

  absl::StatusOr<bool> Fill(std::string_view id, v1::User& user) const override {
    const int node = Present(id);
    if (node < 0) return false;
    SetUser(id, node, user);
    return true;
  }

  // Who was put may share the node with others, now or before.
  bool owns_node(std::string_view id) const override {
    const std::lock_guard lock(mutex_);
    const int node = store_ ? -1 : Present(id);
    if (node < 0) return false;
    const std::vector<bool> pooled = UserNodesOf(spec_).Pooled(spec_);
    return !pooled[static_cast<std::size_t>(node)];
  }

  absl::Status CheckDelete(std::span<const std::string> ids) const override {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (!spec_.users.contains(ids[i])) continue;
      return FailedPrecondition("ids[", i,
                                "]: stands among the users of the model's configuration; "
                                "take it out there first, then delete the user");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<EffectKey>> Remove(std::span<const std::string> ids) override {
    const std::lock_guard lock(mutex_);
    absl::flat_hash_map<EffectKey, std::string_view> known;
    for (const std::string& id : ids) {
      if (NodeOf(id) >= 0) known.emplace(UserKey(id), id);
    }
    std::vector<EffectKey> removed;
    std::vector<std::string_view> stored;
    for (const auto& [key, id] : known) {
      removed.push_back(key);
      stored.push_back(id);
    }
    if (removed.empty()) return removed;
    BANDANA_RETURN_IF_ERROR(store_->Remove(stored, {}).status());
    const std::unique_lock writing(put_mutex_);
    for (const EffectKey key : removed) put_.erase(key);
    size_.store(put_.size(), std::memory_order_release);
    return removed;
  }

  std::size_t size() const override { return size_.load(std::memory_order_relaxed); }
  bool has_users() const override { return size() > 0; }
  absl::Status Encode(const ByteSink& sink) override {
    const std::lock_guard lock(mutex_);
    return store_ ? EncodeUsers(*store_, sink) : absl::OkStatus();
  }

 private:
  int nodes() const { return spec_.coupling.nodes(); }
  int NodeOfRow(const UserRows& rows, std::size_t user) const {
    return UserBatch::NodeOf(rows.value(user, 0), nodes());
  }
  static void SetUser(std::string_view id, int node, v1::User& user) {
    user.set_id(std::string(id));
    user.set_node(static_cast<std::uint32_t>(node));
  }

  absl::Status OpenStore() {
    if (store_) return absl::OkStatus();
    BANDANA_ASSIGN_OR_RETURN(UserStore opened, UserStore::Open(place_));
    store_.emplace(std::move(opened));
    return absl::OkStatus();
  }

  // The user's own node; -1 for one whom nobody has named.
  int Present(std::string_view id) const {
    const auto found = UserNodesOf(spec_).Resolve(
        spec_, id, [this](std::string_view user) { return NodeOf(user); });
    if (!found.ok()) return -1;
    const bool shared = spec_.cold_start_node == *found && NodeOf(id) < 0;
    return shared && !spec_.users.contains(std::string(id)) ? -1 : *found;
  }

  const ModelSpec& spec_;
  const TablePlace place_;
  mutable std::mutex mutex_;  // for the store and the order of changes
  mutable std::optional<UserStore> store_;
  mutable std::shared_mutex put_mutex_;
  absl::flat_hash_map<EffectKey, int> put_;
  std::atomic<std::size_t> size_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<UserTable>> OpenNodeTable(const ModelSpec& spec,
                                                         const TablePlace& place) {
  auto table = std::make_unique<NodeTable>(spec, place);
  BANDANA_RETURN_IF_ERROR(table->Load());
  return table;
}

}  // namespace bandana::server

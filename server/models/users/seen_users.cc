#include "server/models/users/seen_users.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

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

}  // namespace

std::unique_ptr<UserTable> MakeSeenUsers(const ModelSpec& spec, const UserIndex& seen) {
  return std::make_unique<SeenUsers>(spec, seen);
}

}  // namespace bandana::server

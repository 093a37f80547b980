#include "server/models/admission/new_users.h"

#include "common/base/limits.h"

namespace bandana::server {

int NewUsers::NodeOf(std::int32_t node, std::string_view user) const {
  if (user.empty()) return node;
  if (const int known = known_.Find(user); known >= 0) return known;
  const auto it = nodes_.find(std::string(user));
  return it == nodes_.end() ? -1 : it->second;
}

int NewUsers::NodeOrNext(std::int32_t node, std::string_view user) const {
  if (const int known = NodeOf(node, user); known >= 0) return known;
  const int next = known_.size() + static_cast<int>(nodes_.size());
  const bool room = next - static_cast<int>(known_.removed()) < users_max_;
  return room && next < kIndependentNodesMax ? next : -1;
}

void NewUsers::Admit(int node, std::string_view user) {
  if (user.empty() || NodeOf(node, user) >= 0) return;
  nodes_.emplace(user, node);
  order_.emplace_back(user);
}

void NewUsers::Commit() {
  for (const std::string& user : order_) known_.Add(user);
  Rollback();
}

void NewUsers::Rollback() {
  nodes_.clear();
  order_.clear();
}

}  // namespace bandana::server

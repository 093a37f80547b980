#include "common/design/user_nodes.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana {

bool UserNodes::Fits(const ModelSpec& spec, const Address& address) const {
  return address.user.empty() && address.node >= 0 && address.node < spec.coupling.nodes();
}

namespace {

// One node for all.
class OneNode final : public UserNodes {
 public:
  absl::StatusOr<int> Resolve(const ModelSpec&, std::string_view,
                              absl::FunctionRef<int(std::string_view)>) const override {
    return 0;
  }
  std::vector<bool> Pooled(const ModelSpec&) const override { return {true}; }
};

// Nodes in the order in which users are first seen, so a decision names its user instead.
class NodePerUser final : public UserNodes {
 public:
  absl::StatusOr<int> Resolve(const ModelSpec&, std::string_view user,
                              absl::FunctionRef<int(std::string_view)> seen) const override {
    return seen(user);
  }
  Address AddressOf(int, std::string_view user) const override { return {-1, user}; }
  bool Fits(const ModelSpec&, const Address& address) const override {
    return !address.user.empty() && address.user.size() <= kUserIdBytesMax;
  }
  std::vector<bool> Pooled(const ModelSpec&) const override { return {}; }
};

// The nodes of a graph, by the configuration's map, or by number without one.
class GraphNodes final : public UserNodes {
 public:
  absl::StatusOr<int> Resolve(const ModelSpec& spec, std::string_view user,
                              absl::FunctionRef<int(std::string_view)>) const override {
    if (spec.users.empty()) {
      int node = -1;
      const bool canonical = user == "0" || user.front() != '0';
      if (canonical && user.find_first_not_of("0123456789") == std::string_view::npos &&
          absl::SimpleAtoi(ToAbsl(user), &node) && node < spec.coupling.nodes()) {
        return node;
      }
    } else if (const auto it = spec.users.find(std::string(user)); it != spec.users.end()) {
      return it->second;
    }
    if (spec.cold_start_node) return *spec.cold_start_node;
    return NotFound("user: not a user of model ", spec.public_spec.name);
  }
  std::vector<bool> Pooled(const ModelSpec& spec) const override {
    std::vector<bool> pooled(spec.coupling.nodes());
    std::vector<int> users(spec.coupling.nodes());
    for (const auto& [user, node] : spec.users) pooled[node] = ++users[node] > 1;
    if (spec.cold_start_node) pooled[*spec.cold_start_node] = true;
    return pooled;
  }
};

}  // namespace

const UserNodes& UserNodesOf(const ModelSpec& spec) {
  static const auto& one = *new OneNode();
  static const auto& per_user = *new NodePerUser();
  static const auto& graph = *new GraphNodes();
  if (spec.coupling.independent()) return per_user;
  return spec.colin_or_goblin ? static_cast<const UserNodes&>(graph) : one;
}

bool PoolsUsers(const ModelSpec& spec) {
  const std::vector<bool> pooled = UserNodesOf(spec).Pooled(spec);
  return std::find(pooled.begin(), pooled.end(), true) != pooled.end();
}

}  // namespace bandana

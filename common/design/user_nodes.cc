#include "common/design/user_nodes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/coupling_table.h"
#include "common/design/node_number.h"

namespace bandana {

bool UserNodes::Fits(const ModelSpec& spec, const Address& address) const {
  return address.user.empty() && address.node >= 0 && address.node < spec.coupling.nodes();
}

absl::StatusOr<int> UserNodes::NodeOf(
    const Address& address, absl::FunctionRef<absl::StatusOr<int>(std::string_view)>) const {
  if (address.user.empty()) return address.node;
  return DataLoss("an event's user in a model that has none");
}

absl::Status UserNodes::CheckGraphChange(std::string_view model) const {
  return FailedPrecondition("model ", ToAbsl(model), " has no graph");
}

std::string UserNodes::Count(const ModelSpec& spec) const {
  return absl::StrCat(spec.coupling.nodes());
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
  Known known() const override { return Known::kSeen; }
  absl::StatusOr<int> Resolve(const ModelSpec&, std::string_view user,
                              absl::FunctionRef<int(std::string_view)> seen) const override {
    return seen(user);
  }
  Address AddressOf(int, std::string_view user) const override { return {-1, user}; }
  bool Fits(const ModelSpec&, const Address& address) const override {
    return !address.user.empty() && address.user.size() <= kUserIdBytesMax;
  }
  absl::StatusOr<int> NodeOf(
      const Address& address,
      absl::FunctionRef<absl::StatusOr<int>(std::string_view)> join) const override {
    return address.user.empty() ? address.node : join(address.user);
  }
  std::string Count(const ModelSpec&) const override { return "grows"; }
  std::string_view whose() const override { return "a user "; }
  std::vector<bool> Pooled(const ModelSpec&) const override { return {}; }
};

// The nodes of a graph: of users who were put, then by the configuration's map, or by number
// without one.
class GraphNodes final : public UserNodes {
 public:
  Known known() const override { return Known::kPut; }
  absl::StatusOr<int> Resolve(const ModelSpec& spec, std::string_view user,
                              absl::FunctionRef<int(std::string_view)> put) const override {
    if (const int node = put(user); node >= 0) return node;
    if (spec.users.empty()) {
      if (const int node = NodeOfNumber(user, spec.coupling.nodes()); node >= 0) return node;
    } else if (const auto it = spec.users.find(std::string(user)); it != spec.users.end()) {
      return it->second;
    }
    if (spec.cold_start_node) return *spec.cold_start_node;
    return NotFound("user: not a user of model ", spec.public_spec.name);
  }
  absl::Status CheckGraphChange(std::string_view) const override { return absl::OkStatus(); }
  std::string Words(const ModelSpec& spec) const override {
    const std::string known = spec.users.empty() ? std::string("ids are node numbers")
                                                 : absl::StrCat(spec.users.size(), " mapped ids");
    return absl::StrCat(known, "; unknown users ",
                        spec.cold_start_node ? absl::StrCat("share node ", *spec.cold_start_node)
                                             : std::string("are refused"));
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

const UserNodes& OneNodeForAll() {
  static const auto& nodes = *new OneNode();
  return nodes;
}

const UserNodes& OneNodePerUser() {
  static const auto& nodes = *new NodePerUser();
  return nodes;
}

const UserNodes& NodesOfGraph() {
  static const auto& nodes = *new GraphNodes();
  return nodes;
}

const UserNodes& UserNodesOf(const ModelSpec& spec) { return CouplingOf(spec.config).users(); }

bool PoolsUsers(const ModelSpec& spec) {
  const std::vector<bool> pooled = UserNodesOf(spec).Pooled(spec);
  return std::find(pooled.begin(), pooled.end(), true) != pooled.end();
}

}  // namespace bandana

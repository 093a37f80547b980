// How the users of a model map to its nodes, by its coupling.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "common/design/model_spec.h"

namespace bandana {

// One object per way. Immutable. Threads: safe.
class UserNodes {
 public:
  // Whom an event belongs to: a node, or -1 and the user whose node follows from the log's order.
  struct Address {
    int node = -1;
    std::string_view user;
  };

  virtual ~UserNodes() = default;

  // Which users there are that a model can tell apart.
  enum class Known {
    kNobody,  // all are one
    kSeen,    // those of whom there was an event
    kPut,     // those of the configuration, and those who were put (Admin.PutUsers)
  };
  virtual Known known() const { return Known::kNobody; }

  // The node that serves this user, -1 for one never seen. `seen`: the nodes of users in the log's
  // order, or of those who were put; -1 for others. Errors: NOT_FOUND. Requires a user id of valid
  // length.
  virtual absl::StatusOr<int> Resolve(const ModelSpec& spec, std::string_view user,
                                      absl::FunctionRef<int(std::string_view)> seen) const = 0;
  // The address that a decision for the user has, once it is resolved.
  virtual Address AddressOf(int node, std::string_view user) const {
    return {node, user.substr(0, 0)};
  }
  // Whether this server can have said it.
  virtual bool Fits(const ModelSpec& spec, const Address& address) const;
  // The node of an entry for that address. `join`: the node of a user, made where there is none
  // yet. Errors: DATA_LOSS no such model names its users; those of `join`.
  virtual absl::StatusOr<int> NodeOf(
      const Address& address,
      absl::FunctionRef<absl::StatusOr<int>(std::string_view user)> join) const;
  // Why the model called so may have no other graph; OK where its nodes are a graph's.
  virtual absl::Status CheckGraphChange(std::string_view model) const;
  // How many nodes there are, for identities.
  virtual std::string Count(const ModelSpec& spec) const;
  // For people: which users there may be; and whose stream one node's is, "" or a word and a space.
  virtual std::string Words(const ModelSpec&) const { return "any user id"; }
  virtual std::string_view whose() const { return ""; }
  // By node: whether it stands for more than one user, or may, so that the server cannot count the
  // events of one user there. Empty = none does.
  virtual std::vector<bool> Pooled(const ModelSpec& spec) const = 0;
};

const UserNodes& OneNodeForAll();
const UserNodes& OneNodePerUser();
const UserNodes& NodesOfGraph();
// That of the configuration's coupling.
const UserNodes& UserNodesOf(const ModelSpec& spec);

// Whether some node stands for more than one user, or may.
bool PoolsUsers(const ModelSpec& spec);

}  // namespace bandana

// Which node each user of a graph had first: what a user may spend is counted at the node.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/design/model_spec.h"
#include "common/ranking/effect_key.h"
#include "server/log/state/state_store.h"
#include "server/models/users/user_batch.h"

namespace bandana::server {

// The one rule of a user's move, wherever the map of users changes: in a private model there is
// none. `present`: the user's own node, -1 for one who has none. Errors: FAILED_PRECONDITION.
absl::Status CheckKeepsNode(const ModelSpec& spec, std::string_view field, int present, int node);

// The nodes of those whom a configuration has named since the model was made, by the keys of their
// ids: who is taken out of it and comes back keeps the node. A user who is deleted is forgotten.
// Not thread-safe.
class KeptNodes {
 public:
  // Nothing is kept in a state that has none. Errors: DATA_LOSS; UNAVAILABLE I/O.
  static absl::StatusOr<KeptNodes> Read(const StateStore& state);
  // Durable on return. Errors: as StateStore::Write.
  absl::Status Write(StateStore& state) const;

  // Whether the model may go on with this configuration. Errors: as CheckKeepsNode.
  absl::Status Check(const ModelSpec& spec) const;
  // As above for users who are put into it.
  absl::Status Check(const ModelSpec& spec, const UserBatch& users) const;
  // Keeps what the configuration says. Whether something is new.
  bool Take(const ModelSpec& spec);
  bool Forget(std::span<const std::string> ids);

 private:
  int NodeOf(std::string_view id, EffectKey key, int nodes) const;

  absl::flat_hash_map<EffectKey, int> nodes_;
  bool numbers_ = false;           // ids were numbers of nodes
  std::optional<int> cold_start_;  // of all whom no map names
};

}  // namespace bandana::server

// A served model without its server: specification, path, users, state and learner together, moved
// on by log entries alone. No I/O, no clock; no result depends on a thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/design/instance_id.h"
#include "common/design/model_spec.h"
#include "common/model/entries/log_entry.h"
#include "common/model/entries/user_index.h"
#include "common/model/learners/learner.h"
#include "common/model/paths/make_path.h"
#include "common/model/state/model_state.h"
#include "common/random/keyed_stream.h"
#include "common/ranking/posterior.h"
#include "common/ranking/served_posterior.h"

namespace bandana {

// Its posterior is that of a server that reads the entries from its log. Not thread-safe.
class ModelCore {
 public:
  // A model whose log is empty. `key`: of central models, else null. `binding`: null but in
  // bandana-audit; must outlive the core. Errors: FAILED_PRECONDITION the key is missing;
  // INVALID_ARGUMENT the model's options.
  static absl::StatusOr<std::unique_ptr<ModelCore>> Create(ModelSpec spec,
                                                           const InstanceId& instance,
                                                           std::shared_ptr<const NoiseKey> key,
                                                           const NoiseBinding* binding = nullptr);
  ModelCore(const ModelCore&) = delete;
  ModelCore& operator=(const ModelCore&) = delete;

  // The entry after position(). Errors: as ModelState::Apply; then the core is not to be used any
  // more.
  absl::Status Apply(const LogEntry& entry);
  // As above for a record (Encode) that has no entry yet: it becomes the next one of a log that is
  // nowhere but here.
  absl::Status Append(std::string record);

  // Whether releases wait for Refresh. Others are in the posterior at once.
  bool stale() const { return learner_->stale(); }
  // Errors: INTERNAL statistics that no events can have.
  absl::Status Refresh();

  // Reads events and releases up to the last refresh. Requires node < nodes().
  NodePosterior Posterior(int node);
  // The posterior that a server would read for Select, with all that Posterior reads.
  std::shared_ptr<const ServedPosterior> Served();
  NodePosterior Prior() const { return learner_->Prior(); }  // of a user never seen
  // Nodes whose posterior may have changed since the last call, ascending; every node at first.
  std::vector<int> TakeChangedNodes();
  // Released Gram matrices that had to be made positive semidefinite.
  std::uint64_t grams_repaired() const { return learner_->grams_repaired(); }
  int nodes() const { return learner_->nodes(); }
  std::uint64_t events(int node) const { return learner_->events(node); }

  const LogPosition& position() const { return state_.position; }
  const ModelSpec& spec() const { return spec_; }
  const EventPath& path() const { return *path_; }
  const UserIndex& users() const { return users_; }
  const ModelState& state() const { return state_; }

 private:
  explicit ModelCore(ModelSpec spec) : spec_(std::move(spec)) {}

  const ModelSpec spec_;
  std::unique_ptr<const EventPath> path_;
  UserIndex users_;
  ModelState state_;
  std::unique_ptr<Learner> learner_;
};

}  // namespace bandana

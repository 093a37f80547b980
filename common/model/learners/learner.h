// What the apply loop feeds and publishes: an event sink with a posterior behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bandits/model.h"
#include "common/bandits/posterior.h"
#include "common/design/model_spec.h"
#include "common/model/entries/released.h"
#include "common/model/state/event_sink.h"
#include "common/model/state/model_state.h"
#include "common/model/state/reward_path.h"

namespace bandana {

// Not thread-safe.
class Learner : public EventSink {
 public:
  // What the streams of a node have released (ModelState::ReleaseOf).
  using ReleaseOf = std::function<Released<NodeRelease>(int node)>;

  virtual int dimension() const = 0;
  virtual NodePosterior Prior() const = 0;  // of a user never seen
  virtual NodePosterior Posterior(int node) const = 0;
  // Nodes whose posterior may have changed since the last call, ascending; every node at first.
  virtual std::vector<int> TakeChangedNodes() = 0;
  // Removes what rounding has added in many updates.
  virtual void Rebuild() = 0;

  // Whether releases wait for Refresh. Models without them are never stale.
  virtual bool stale() const { return false; }
  // Brings the posterior up to date with the releases. Errors: INTERNAL statistics that no events
  // can have.
  virtual absl::Status Refresh(const ReleaseOf&) { return absl::OkStatus(); }
  // Released Gram matrices that were not positive semidefinite and were made so.
  virtual std::uint64_t grams_repaired() const { return 0; }
  // Models of arms with LIL_UCB: the arm, once it is identified.
  virtual std::optional<int> best_arm() const { return std::nullopt; }
};

// The learner of the model, at `state`, whose statistics (those of its contexts, with a counter)
// are given by node. Its posterior holds everything that is applied. Errors: DATA_LOSS statistics
// that no events can have.
absl::StatusOr<std::unique_ptr<Learner>> MakeLearner(const ModelSpec& spec, const RewardPath& path,
                                                     const ModelState& state,
                                                     std::vector<NodeStatistics> statistics);

}  // namespace bandana

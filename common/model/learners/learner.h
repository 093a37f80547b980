// The learner that the apply loop feeds and publishes: an event sink with a posterior behind it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bandits/model.h"
#include "common/design/model_spec.h"
#include "common/model/state/event_path.h"
#include "common/model/state/event_sink.h"
#include "common/model/state/model_state.h"
#include "common/ranking/posterior.h"
#include "common/ranking/served_posterior.h"

namespace bandana {

// Not thread-safe.
class Learner : public EventSink {
 public:
  virtual int dimension() const = 0;
  virtual NodePosterior Prior() const = 0;  // of a user never seen
  // Requires that nothing waits to be flushed.
  virtual NodePosterior Posterior(int node) const = 0;
  // Nodes whose posterior may have changed since the last call, ascending; every node at first.
  virtual std::vector<int> TakeChangedNodes() = 0;

  // The view of readers from now on, at `version`. `changed`: what TakeChangedNodes has given since
  // the last call.
  virtual std::shared_ptr<const ServedPosterior> Show(std::uint64_t version,
                                                      const std::vector<int>& changed);

  // Takes in what was held back for speed, and what the state has released that needs no Refresh.
  virtual void Flush(const ModelState&) {}
  // Remove what rounding has added in many updates, where it adds up: the posterior is computed
  // anew beside the caller from BeginRebuild on, and taken at SwapRebuilt (BanditModel). Both
  // require that nothing waits to be flushed.
  virtual void BeginRebuild() {}
  virtual void SwapRebuilt() {}
  // Whether releases wait for Refresh. Models without them are never stale.
  virtual bool stale() const { return false; }
  // Brings the posterior up to date with the state's releases. Errors: INTERNAL statistics that no
  // events can have.
  virtual absl::Status Refresh(const ModelState&) { return absl::OkStatus(); }
  // Released Gram matrices that were not positive semidefinite and were made so.
  virtual std::uint64_t grams_repaired() const { return 0; }
  // Models of arms with LIL_UCB: the arm, once it is identified.
  virtual std::optional<int> best_arm() const { return std::nullopt; }

 private:
  std::shared_ptr<const PosteriorSnapshot> shown_;
};

// `read`: a learner's verdict on statistics that came from a file, as an error of the file.
absl::Status AsRecovered(const absl::Status& read);

}  // namespace bandana

// The handling of events whose rewards may be read: one object per family.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/bandits/model.h"
#include "common/design/model_spec.h"
#include "common/model/entries/released.h"
#include "common/model/state/event_sink.h"

namespace bandana {

class Learner;
struct ModelState;

// An event as the log has it, without its reward. Views are not aligned.
struct SeenEvent {
  int node = 0;
  std::string_view features;  // d doubles
  std::string_view keys;      // models of effects: its key parts
  double variance = 0;        // of the noise in its reward
};

// Immutable. Threads: const methods are safe.
class RewardEvents {
 public:
  virtual ~RewardEvents();
  // Dimension of the sums that are kept for a node.
  virtual int statistics_dimension(int dimension) const { return dimension; }
  // Gives a state without events the part that the family has.
  virtual absl::Status Begin(ModelState&) const { return absl::OkStatus(); }
  // As above, from a checkpoint. Errors: DATA_LOSS.
  virtual absl::Status Restore(std::string_view effects, ModelState&) const;
  // One event. Errors: DATA_LOSS its keys are not those of such a model.
  virtual absl::Status Add(const SeenEvent& event, const Released<double>& reward, ModelState&,
                           EventSink& sink) const;
  // Forgets everything learnt of the keys, 8 bytes each. Errors: DATA_LOSS the model has no
  // effects, or a key is no user's, arm's or group's.
  virtual absl::Status Free(std::string_view keys, ModelState&) const;
  // Events before it have faded up to the step. Errors: DATA_LOSS the family does not forget.
  virtual absl::Status Fade(std::uint64_t steps, EventSink& sink) const;
  // Lets what was added take effect while nobody reads the model.
  virtual void Settle(ModelState&) const {}
  // `variance`: the largest of a reward's noise, 0 without any. Errors: as EventPath::MakeLearner.
  virtual absl::StatusOr<std::unique_ptr<Learner>> MakeLearner(
      const ModelSpec& spec, const ModelState& state, double variance,
      std::vector<NodeStatistics> statistics) const = 0;
};

}  // namespace bandana

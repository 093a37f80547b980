// LOCAL_REWARD with a counter: devices count, and report the newest release of each stream with the
// contexts of its steps.
#pragma once

#include <utility>
#include <vector>

#include "common/model/paths/covered_contexts.h"
#include "common/model/state/event_path.h"

namespace bandana {

class DeviceCounterPath final : public EventPath {
 public:
  // `counter`: of the mechanism that `facts` has.
  DeviceCounterPath(PathFacts facts, const RewardCounter& counter)
      : EventPath(std::move(facts)), design_(counter.design), contexts_(counter.centre) {}

  Released<NodeRelease> ReleaseOf(const ModelState& state, int stream) const override;
  void CloseStreams(ModelState& state) const override;
  absl::StatusOr<std::unique_ptr<Learner>> MakeLearner(
      const ModelSpec& spec, const ModelState& state,
      std::vector<NodeStatistics> statistics) const override;
  const CounterDesign* device_counter() const override { return &design_; }

 protected:
  absl::Status TakeCounter(const CounterRecord& record, const Applying& to) const override;

 private:
  const CounterDesign& design_;
  const CoveredContexts contexts_;
};

}  // namespace bandana

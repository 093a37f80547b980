// LOCAL_CONTEXT: reports of perturbed (context, reward) pairs, which name no user and no decision.
#pragma once

#include <utility>
#include <vector>

#include "common/model/state/event_path.h"

namespace bandana {

class ContextPath final : public EventPath {
 public:
  // `reports`: of the mechanism that `facts` has.
  ContextPath(PathFacts facts, const ContextReports& reports)
      : EventPath(std::move(facts)), reports_(reports) {}

  absl::StatusOr<std::unique_ptr<Learner>> MakeLearner(
      const ModelSpec& spec, const ModelState& state,
      std::vector<NodeStatistics> statistics) const override;

 protected:
  absl::Status TakeContext(const ContextRecord& record, const Applying& to) const override;
  absl::Status Fade(std::uint64_t steps, EventSink& sink) const override;

 private:
  // Reads the report's estimate of its event. Errors: as ContextReports::Decode.
  absl::StatusOr<Released<JointEstimate>> Read(const ContextRecord& report) const;

  const ContextReports& reports_;
};

}  // namespace bandana

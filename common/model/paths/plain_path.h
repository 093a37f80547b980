// Models whose log says of a reward what the posterior may read: of a model that is not private the
// reward itself, else what its device drew.
#pragma once

#include <utility>
#include <vector>

#include "common/model/paths/intake.h"

namespace bandana {

class PlainPath final : public SeenPath {
 public:
  // `variance`: the largest of what the devices draw, 0 without privacy.
  PlainPath(PathFacts facts, const EventIntake& intake, double variance)
      : SeenPath(std::move(facts), intake), variance_(variance) {}

  absl::Status Use(const SeenEvent& event, double reward, const Applying& to) const override;
  // Nothing is drawn here and no stream ends: the epoch goes on in a copy, limits and all.
  absl::Status BeginCopy(const WindowValues& reported, ModelState& state,
                         std::vector<NodeStatistics>& statistics) const override;
  absl::StatusOr<std::unique_ptr<Learner>> MakeLearner(
      const ModelSpec& spec, const ModelState& state,
      std::vector<NodeStatistics> statistics) const override;

 protected:
  absl::Status Fade(std::uint64_t steps, EventSink& sink) const override {
    return events().Fade(steps, sink);
  }

 private:
  const double variance_;
};

}  // namespace bandana

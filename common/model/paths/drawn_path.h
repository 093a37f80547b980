// CENTRAL_REWARD with a randomizer: the server draws one output per event in the devices' place.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/sha256.h"
#include "common/model/paths/central_path.h"

namespace bandana {

class DrawnPath final : public CentralPath {
 public:
  // `rewards`: of the mechanism that `facts` has. `default_reward`: of missing ones.
  DrawnPath(PathFacts facts, const EventIntake& intake, KeyedNoise noise,
            const RewardReports& rewards, double default_reward)
      : CentralPath(std::move(facts), intake, std::move(noise)),
        rewards_(rewards),
        parameters_(rewards.parameters()),
        default_reward_(default_reward) {}

  absl::Status Use(const SeenEvent& event, double reward, const Applying& to) const override;
  absl::StatusOr<std::unique_ptr<Learner>> MakeLearner(
      const ModelSpec& spec, const ModelState& state,
      std::vector<NodeStatistics> statistics) const override;

 protected:
  absl::Status Fade(std::uint64_t steps, EventSink& sink) const override {
    return events().Fade(steps, sink);
  }

 private:
  // Which of all events it is: the node's number `index`, from 1.
  struct Event {
    int node = 0;
    std::uint64_t index = 0;
  };
  // Errors: UNAVAILABLE the keyed stream failed.
  absl::StatusOr<RewardEvent> Draw(double reward, const Event& event,
                                   const NoiseOrigin& origin) const;

  const RewardReports& rewards_;
  const Sha256Digest parameters_;
  const double default_reward_;
};

}  // namespace bandana

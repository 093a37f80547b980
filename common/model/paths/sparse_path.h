// JOINT, sparse models: context and reward enter episodes, which release an estimate at their ends.
#pragma once

#include <utility>
#include <vector>

#include "common/bandits/sparse/fliphat.h"
#include "common/model/paths/central_path.h"

namespace bandana {

class SparsePath final : public CentralPath {
 public:
  // `model`: of the mechanism that `facts` has.
  SparsePath(PathFacts facts, const EventIntake& intake, KeyedNoise noise, const Fliphat& model)
      : CentralPath(std::move(facts), intake, std::move(noise)), model_(model) {}

  int statistics_dimension() const override { return 0; }
  absl::Status Use(const SeenEvent& event, double reward, const Applying& to) const override;
  void CloseStreams(ModelState& state) const override;
  absl::Status RestoreSparse(std::string_view sparse, ModelState& state) const override;
  absl::StatusOr<std::unique_ptr<Learner>> MakeLearner(
      const ModelSpec& spec, const ModelState& state,
      std::vector<NodeStatistics> statistics) const override;

 private:
  const Fliphat& model_;
};

}  // namespace bandana

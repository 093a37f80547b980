// Events of a model of effects, and the posterior that readers share with it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/bandits/effects/effects_posterior.h"
#include "common/model/learners/learner.h"
#include "common/model/state/reward_events.h"
#include "common/ranking/served_posterior.h"

namespace bandana {

// The blocks are the state's (ModelState::effects); of its one node the sink counts events alone.
// Not thread-safe.
class EffectsSink final : public Learner, public StreamEvents {
 public:
  // `counted`: of the one node, its number of events. Errors: DATA_LOSS another number of nodes.
  static absl::StatusOr<std::unique_ptr<EffectsSink>> Create(const ModelState& state,
                                                             std::vector<NodeStatistics> counted);

  int nodes() const override { return 1; }
  int dimension() const override { return effects_->options().dimension; }
  std::uint64_t events(int) const override { return counted_.events; }
  void Count(int) override { ++counted_.events; }
  void Touch(int) override {}
  const NodeStatistics& statistics(int) const override { return counted_; }

  // The posterior of a user without groups: before any event, and as it stands.
  NodePosterior Prior() const override;
  NodePosterior Posterior(int) const override;
  std::vector<int> TakeChangedNodes() override;
  std::shared_ptr<const ServedPosterior> Show(std::uint64_t version,
                                              const std::vector<int>& changed) override;

 private:
  EffectsSink(std::shared_ptr<EffectsPosterior> effects, NodeStatistics counted)
      : effects_(std::move(effects)), counted_(std::move(counted)) {}

  const std::shared_ptr<EffectsPosterior> effects_;
  NodeStatistics counted_;
  bool first_ = true;
};

// The handling of events in a model of effects.
std::unique_ptr<const RewardEvents> MakeEffectEvents(const ModelSpec& spec);

}  // namespace bandana

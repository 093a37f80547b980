#include "common/model/learners/make_reward_events.h"

#include <utility>

#include "common/base/status.h"
#include "common/model/learners/arms_sink.h"
#include "common/model/learners/bandit_sink.h"
#include "common/model/learners/effects_sink.h"
#include "common/model/learners/points_sink.h"

namespace bandana {
namespace {

class LinearEvents final : public RewardEvents {
  absl::Status Fade(std::uint64_t steps, EventSink& sink) const override {
    PartOf<FadingSums>(sink).FadeTo(steps);
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<Learner>> MakeLearner(
      const ModelSpec& spec, const ModelState& state, double,
      std::vector<NodeStatistics> statistics) const override {
    BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<BanditModel> model,
                             MakeBandit(spec, state, statistics.size()));
    BANDANA_RETURN_IF_ERROR(AsRecovered(model->Restore(std::move(statistics))));
    return std::make_unique<BanditSink>(spec, std::move(model));
  }
};

class ArmEvents final : public RewardEvents {
  absl::StatusOr<std::unique_ptr<Learner>> MakeLearner(
      const ModelSpec& spec, const ModelState&, double variance,
      std::vector<NodeStatistics> statistics) const override {
    return ArmsSink::Create(spec, variance, std::move(statistics));
  }
};

class PointEvents final : public RewardEvents {
  absl::StatusOr<std::unique_ptr<Learner>> MakeLearner(
      const ModelSpec& spec, const ModelState&, double,
      std::vector<NodeStatistics> statistics) const override {
    return PointsSink::Create(spec, std::move(statistics));
  }
};

}  // namespace

std::unique_ptr<const RewardEvents> MakeRewardEvents(const ModelSpec& spec) {
  if (spec.arms) return std::make_unique<ArmEvents>();
  if (spec.points) return std::make_unique<PointEvents>();
  if (spec.effects) return MakeEffectEvents(spec);
  return std::make_unique<LinearEvents>();
}

}  // namespace bandana

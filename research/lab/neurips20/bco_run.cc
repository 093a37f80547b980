#include "research/lab/neurips20/bco_run.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/bandits/bco/convex_policy.h"
#include "common/bandits/bco/direction.h"
#include "common/base/status.h"
#include "research/lab/neurips20/mab_channel.h"
#include "research/lab/noise.h"
#include "research/lab/tally.h"
#include "tools/base/settings.h"
#include "tools/environments/convex_losses.h"

namespace bandana::lab {
namespace {

struct ConvexTask {
  ConvexDomain domain;
  LossShape shape = LossShape::kCone;
};

absl::StatusOr<ConvexTask> TakeConvexTask(const Cell& cell) {
  BANDANA_ASSIGN_OR_RETURN(Settings settings, SettingsOf(cell));
  ConvexTask task;
  BANDANA_ASSIGN_OR_RETURN(task.domain.dimension, settings.TakeInt("dimension", 2, 1, 256));
  static constexpr std::string_view kDomains[] = {"ball", "box"};
  BANDANA_ASSIGN_OR_RETURN(const std::string domain,
                           settings.TakeChoice("domain", "ball", kDomains));
  if (domain == "box") task.domain.kind = ConvexDomain::Kind::kBox;
  BANDANA_ASSIGN_OR_RETURN(const std::string loss, settings.TakeText("loss", "cone"));
  BANDANA_ASSIGN_OR_RETURN(task.shape, ParseLossShape(loss));
  BANDANA_RETURN_IF_ERROR(settings.Finish());
  return task;
}

struct ConvexLearner {
  NumberChannel channel;
  std::unique_ptr<ConvexPolicy> policy;
};

absl::StatusOr<ConvexLearner> MakeLearner(const Cell& cell, const ConvexTask& task,
                                          const ConvexLosses& losses) {
  const bool two_point = cell.algorithm == "ldp-bco-two-point";
  const RewardRange range =
      two_point ? RewardRange{-1, 1} : RewardRange{losses.value_min(), losses.value_max()};
  BANDANA_ASSIGN_OR_RETURN(NumberChannel channel,
                           NumberChannel::Create({.label = cell.label,
                                                  .epsilon = {cell.epsilon.value_or(0)},
                                                  .delta = {cell.delta.value_or(0)},
                                                  .range = range,
                                                  .seed = cell.seed}));
  const ConvexScales scales{.lipschitz = losses.lipschitz(),
                            .smoothness = losses.smoothness(),
                            .feedback_middle = (range.min + range.max) / 2,
                            .feedback_scale = channel.scale(),
                            .horizon = cell.horizon};
  std::unique_ptr<ConvexPolicy> policy;
  if (two_point) {
    const TwoPointOptions options{.step_factor = cell.label == "published" ? 1.0 : 0.0};
    BANDANA_ASSIGN_OR_RETURN(policy, MakeTwoPointPolicy(task.domain, scales, options));
  } else if (cell.algorithm == "ldp-bco-barrier") {
    BANDANA_ASSIGN_OR_RETURN(policy, MakeBarrierPolicy(task.domain, scales));
  } else {
    BANDANA_ASSIGN_OR_RETURN(policy, MakeSphericalPolicy(task.domain, scales));
  }
  return ConvexLearner{std::move(channel), std::move(policy)};
}

absl::StatusOr<ConvexPlay> Play(const ConvexLearner* learner, const ConvexTask& task,
                                RealSampler& sampler) {
  if (learner != nullptr) return learner->policy->Play(sampler);
  BANDANA_ASSIGN_OR_RETURN(std::vector<double> u, DrawDirection(task.domain.dimension, sampler));
  return ConvexPlay{.points = {std::move(u)}};
}

// The feedback that the device would hand to its mechanism.
double FeedbackOf(const ConvexPlay& play, const std::vector<double>& values, double lipschitz) {
  if (values.size() == 1) return values[0];
  return NormalizedDifference(values[0], values[1], lipschitz, play.distance);
}

}  // namespace

absl::StatusOr<CellResult> RunConvex(const Cell& cell) {
  BANDANA_ASSIGN_OR_RETURN(const ConvexTask task, TakeConvexTask(cell));
  BANDANA_ASSIGN_OR_RETURN(const ConvexLosses losses,
                           ConvexLosses::Create({.shape = task.shape,
                                                 .dimension = task.domain.dimension,
                                                 .outer_radius = task.domain.outer_radius(),
                                                 .seed = cell.seed}));
  std::optional<ConvexLearner> learner;
  if (cell.label != "random") {
    BANDANA_ASSIGN_OR_RETURN(learner, MakeLearner(cell, task, losses));
  }
  // Directions are exploration: a stream of their own, apart from the noise.
  BANDANA_ASSIGN_OR_RETURN(const std::unique_ptr<LabNoise> directions,
                           LabNoise::Create(cell.seed, 2));
  RealSampler sampler(*directions);
  CellResult result{.cell = cell};
  result.mechanism = learner.has_value() ? learner->channel.name() : "none";
  result.dimension = task.domain.dimension;
  result.users = 1;
  std::vector<double> values;
  for (std::uint64_t t = 0; t < cell.horizon; ++t) {
    BANDANA_ASSIGN_OR_RETURN(const ConvexPlay play,
                             Play(learner.has_value() ? &*learner : nullptr, task, sampler));
    values.clear();
    for (const std::vector<double>& point : play.points) {
      const double share = 1.0 / static_cast<double>(play.points.size());
      values.push_back(losses.Value(t, point));
      result.regret += share * losses.Expected(point);
      result.reward -= share * values.back();
    }
    if (learner.has_value()) {
      BANDANA_ASSIGN_OR_RETURN(const double released, learner->channel.Release(FeedbackOf(
                                                          play, values, losses.lipschitz())));
      BANDANA_RETURN_IF_ERROR(learner->policy->Apply(play.factor, released));
    }
    if (EndsPoint(t, cell.horizon)) result.curve.push_back({t + 1, result.regret, result.reward});
  }
  return result;
}

}  // namespace bandana::lab

#include "research/lab/neurips20/context_run.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/ranking/scoring.h"
#include "research/lab/neurips20/context_learner.h"
#include "research/lab/neurips20/context_world.h"
#include "research/lab/neurips20/glm_learner.h"
#include "research/lab/neurips20/linear_learner.h"
#include "research/lab/tally.h"
#include "tools/environments/random.h"

namespace bandana::lab {
namespace {

constexpr double kThetaL2 = 1;

absl::StatusOr<PrivUnitDraws> TakeDraws(Settings& settings) {
  static constexpr std::string_view kNames[] = {"fast", "seeds", "law"};
  BANDANA_ASSIGN_OR_RETURN(const std::string name, settings.TakeChoice("draws", "fast", kNames));
  if (name == "seeds") return PrivUnitDraws::kSeeds;
  return name == "law" ? PrivUnitDraws::kLaw : PrivUnitDraws::kFast;
}

struct LabelRow {
  std::string_view label;
  v1::Mechanism mechanism;
};
constexpr LabelRow kServed[] = {{"auto", v1::AUTO},
                                {"proven", v1::AUTO},
                                {"privunit", v1::PRIVUNIT},
                                {"gaussian", v1::JOINT_GAUSSIAN}};

// Null for the random policy.
absl::StatusOr<std::unique_ptr<ContextLearner>> MakeLearner(const Cell& cell,
                                                            const ContextTask& task) {
  if (cell.label == "random") return nullptr;
  if (cell.label == "non-private") return MakeUnperturbed(task);
  if (cell.label == "published") {
    if (cell.algorithm == "ldp-linucb") return MakePublishedLinear(task);
    return MakePublishedGlm(task, GlmCalibration::kPublished);
  }
  if (cell.label == "published-joint") return MakePublishedGlm(task, GlmCalibration::kJoint);
  for (const LabelRow& row : kServed) {
    if (row.label == cell.label) return MakeReported(task, row.mechanism);
  }
  return InvalidArgument("no label `", cell.label, "` of ", cell.algorithm);
}

}  // namespace

absl::StatusOr<CellResult> RunContexts(const Cell& cell) {
  BANDANA_ASSIGN_OR_RETURN(Settings settings, SettingsOf(cell));
  BANDANA_ASSIGN_OR_RETURN(const std::string link_name, settings.TakeText("link", "linear"));
  BANDANA_ASSIGN_OR_RETURN(const Link link, ParseLink(link_name));
  if (link != Link::kLinear && (cell.algorithm == "ldp-linucb" || cell.algorithm == "linucb"))
    return InvalidArgument(cell.algorithm, " is for the linear link, got link=", link_name);
  BANDANA_ASSIGN_OR_RETURN(const PrivUnitDraws draws, TakeDraws(settings));
  BANDANA_ASSIGN_OR_RETURN(const double alpha, settings.TakeDouble("alpha", 0.3, 0, 1e6));
  BANDANA_ASSIGN_OR_RETURN(const ContextWorld world,
                           ContextWorld::Create(link, kThetaL2, settings, cell.seed));
  BANDANA_RETURN_IF_ERROR(settings.Finish());
  const ContextWorld::Options& options = world.options();
  const ContextTask task{
      .link = link,
      .dimension = options.dimension,
      .theta_l2_max = options.theta_l2,
      .reward_stddev = world.reward_stddev(),
      .prior_stddev = options.theta_l2 / std::sqrt(static_cast<double>(options.dimension)),
      .alpha = alpha,
      .epsilon = {cell.epsilon.value_or(0)},
      .delta = {cell.delta.value_or(0)},
      .horizon = cell.horizon,
      .seed = cell.seed,
      .draws = draws};
  BANDANA_ASSIGN_OR_RETURN(const std::unique_ptr<ContextLearner> learner, MakeLearner(cell, task));

  CellResult result{.cell = cell};
  result.mechanism = learner == nullptr ? "none" : learner->mechanism();
  result.dimension = options.dimension;
  result.users = 1;
  result.arms = options.arms;
  SeededStream ties(cell.seed, StreamPurpose::kArrival, 0);
  ContextWorld::Round round;
  ArmScores scores;
  const std::size_t d = options.dimension;
  for (std::uint64_t t = 0; t < cell.horizon; ++t) {
    world.RoundAt(t, round);
    const std::uint64_t key = ties.Next();
    int shown = static_cast<int>(key % round.expected.size());
    if (learner != nullptr) {
      ScoreArms(learner->Posterior(), round.features, scores);
      shown = RankArms(scores.scores, 1, key).front();
    }
    const double reward = world.RewardAt(t, round, shown);
    const double best = *std::max_element(round.expected.begin(), round.expected.end());
    double mean = 0;
    for (const double value : round.expected) mean += value / options.arms;
    AddRound(t, {.best = best, .shown = round.expected[shown], .mean = mean, .reward = reward},
             result);
    if (learner != nullptr) {
      BANDANA_RETURN_IF_ERROR(
          learner->Learn(std::span<const double>(round.features).subspan(shown * d, d), reward));
    }
  }
  if (learner != nullptr) result.measures["repairs"] = static_cast<double>(learner->repairs());
  return result;
}

}  // namespace bandana::lab

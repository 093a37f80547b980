#include "research/lab/neurips20/bai_run.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/bandits/mab/lil_ucb.h"
#include "common/base/status.h"
#include "common/ranking/policies/draw_arm.h"
#include "research/lab/neurips20/arm_sequence.h"
#include "research/lab/neurips20/mab_channel.h"
#include "research/lab/tally.h"
#include "tools/base/settings.h"
#include "tools/environments/random.h"

namespace bandana::lab {
namespace {

struct BestArmTask {
  ArmSequence::Options world;
  double nu = 0.1;
  LilUcb::Variant variant = LilUcb::Variant::kHeuristic;
};

absl::StatusOr<BestArmTask> TakeBestArmTask(const Cell& cell) {
  BANDANA_ASSIGN_OR_RETURN(Settings settings, SettingsOf(cell));
  BestArmTask task;
  task.world.seed = cell.seed;
  BANDANA_ASSIGN_OR_RETURN(task.world.arms, settings.TakeInt("arms", 10, 1, 1000));
  BANDANA_ASSIGN_OR_RETURN(task.world.gap, settings.TakeDouble("gap", 0.3, 0, 1));
  BANDANA_ASSIGN_OR_RETURN(task.nu, settings.TakeDouble("nu", 0.1, 1e-9, 1 - 1e-9));
  static constexpr std::string_view kVariants[] = {"heuristic", "theory"};
  BANDANA_ASSIGN_OR_RETURN(const std::string variant,
                           settings.TakeChoice("variant", "heuristic", kVariants));
  if (variant == "theory") task.variant = LilUcb::Variant::kTheory;
  BANDANA_RETURN_IF_ERROR(settings.Finish());
  return task;
}

}  // namespace

absl::StatusOr<CellResult> RunBestArm(const Cell& cell) {
  BANDANA_ASSIGN_OR_RETURN(const BestArmTask task, TakeBestArmTask(cell));
  BANDANA_ASSIGN_OR_RETURN(const ArmSequence world, ArmSequence::Create(task.world));
  BANDANA_ASSIGN_OR_RETURN(NumberChannel channel,
                           NumberChannel::Create({.label = cell.label,
                                                  .epsilon = {cell.epsilon.value_or(0)},
                                                  .delta = {cell.delta.value_or(0)},
                                                  .range = {0, 1},
                                                  .binary = true,
                                                  .seed = cell.seed}));
  BANDANA_ASSIGN_OR_RETURN(const std::unique_ptr<LilUcb> policy,
                           LilUcb::Create({.arms = task.world.arms,
                                           .variance_proxy = channel.variance_proxy(),
                                           .failure_probability = task.nu,
                                           .variant = task.variant}));
  CellResult result{.cell = cell, .mechanism = channel.name()};
  result.users = 1;
  result.arms = task.world.arms;
  const double random_regret = task.world.gap * (task.world.arms - 1) / task.world.arms;
  SeededStream choices(cell.seed, StreamPurpose::kArrival, 0);
  std::vector<double> probabilities;
  std::optional<int> decision = policy->Decision();
  std::uint64_t t = 0;
  for (; t < cell.horizon && !decision.has_value(); ++t) {
    policy->Probabilities(probabilities);
    const int arm = DrawArm(probabilities, choices.Uniform());
    const double reward = world.Reward(t, arm);
    result.regret += world.Mean(t, world.best()) - world.Mean(t, arm);
    result.reward += reward;
    result.random_regret += random_regret;
    result.random_reward += world.Mean(t, world.best()) - random_regret;
    BANDANA_ASSIGN_OR_RETURN(const double released, channel.Release(reward));
    BANDANA_RETURN_IF_ERROR(policy->Apply({.arm = arm, .reward = released}));
    decision = policy->Decision();
    // A point where the number of events doubles: where it stops is not known beforehand.
    if ((t & (t + 1)) == 0) result.curve.push_back({t + 1, result.regret, result.reward});
  }
  result.curve.push_back({t, result.regret, result.reward});
  result.measures["stopping_time"] = static_cast<double>(t);
  result.measures["correct"] = decision == world.best() ? 1 : 0;
  return result;
}

}  // namespace bandana::lab

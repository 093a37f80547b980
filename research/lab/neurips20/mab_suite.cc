#include "research/lab/neurips20/mab_suite.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bandits/mab/lil_ucb.h"
#include "common/base/status.h"
#include "common/ranking/policies/draw_arm.h"
#include "research/lab/cells.h"
#include "research/lab/neurips20/arm_sequence.h"
#include "research/lab/neurips20/bco_run.h"
#include "research/lab/neurips20/mab_channel.h"
#include "research/lab/neurips20/mab_run.h"
#include "research/lab/tally.h"
#include "tools/base/settings.h"
#include "tools/environments/random.h"

namespace bandana::lab {
namespace {

// The environment of these cells.
constexpr std::string_view kBestArm = "best-arm";

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

// Algorithm `ldp-bai`: lil'UCB until it stops or the horizon ends. Keys: `arms` 10; `gap` 0.3, of
// the best arm to all others (stochastic rewards 0 and 1); `nu` 0.1, the probability of a wrong
// answer; `variant` theory or heuristic. Measures: `stopping_time`, events until it stopped;
// `correct`, 1 where it named the best arm. The regret is that of all events. Errors:
// INVALID_ARGUMENT.
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

}  // namespace

std::vector<Experiment> ContextFreeExperiments() {
  return {
      {.name = "neurips20-mab",
       .summary = "[Z20] Algorithm 1 over Tsallis-INF and KL-UCB: growth of the worst regret",
       .environment = kArms,
       .settings = {{"law", "stochastic,adversarial"}},
       .algorithms = {"ldp-mab", "ldp-mab-klucb"},
       .labels = {"non-private", "published", "proven", "auto"},
       .epsilons = {1},
       .horizons = {10'000, 30'000, 100'000, 300'000},
       .figure = Figure::kSweep,
       .title = "10 arms, the worst of 3 gaps, epsilon 1",
       .sweep = "horizon",
       .seeds = 10},
      {.name = "neurips20-bai",
       .summary = "[Z20] Algorithm 1 over lil'UCB: events until the best arm is known",
       .environment = kBestArm,
       .algorithms = {"ldp-bai"},
       .labels = {"non-private", "published", "proven", "auto"},
       .epsilons = {0.5, 1, 2, 5, 10},
       .horizons = {20'000'000},
       .figure = Figure::kSweep,
       .title = "10 arms, gap 0.3, asked to be right in 9 of 10 runs",
       .sweep = "epsilon",
       .value = "stopping_time",
       .value_meaning = "events until the answer",
       .seeds = 20},
      {.name = "neurips20-bco",
       .summary = "[Z20] Algorithms 1 and 2: growth of the regret of Lipschitz losses",
       .environment = kConvex,
       .settings = {{"loss", "cone"}},
       .algorithms = {"ldp-bco", "ldp-bco-two-point"},
       .labels = {"non-private", "published", "proven", "auto"},
       .epsilons = {1},
       .horizons = {100'000, 300'000, 1'000'000},
       .figure = Figure::kSweep,
       .title = "points of a disc, sharp minimum, epsilon 1",
       .sweep = "horizon",
       .seeds = 8},
      {.name = "neurips20-bco-smooth",
       .summary = "[Z20] Algorithm 1 on ellipsoids: growth of the regret of smooth losses",
       .environment = kConvex,
       .settings = {{"loss", "quadratic"}},
       .algorithms = {"ldp-bco-barrier"},
       .labels = {"non-private", "published", "proven", "auto"},
       .epsilons = {1},
       .horizons = {100'000, 300'000, 1'000'000},
       .figure = Figure::kSweep,
       .title = "points of a disc, smooth losses, epsilon 1",
       .sweep = "horizon",
       .seeds = 8},
  };
}

std::vector<Contender> ContextFreeContenders() {
  const std::vector<Label> labels = {{"non-private", false, false},
                                     {"published"},
                                     {"proven"},
                                     {"randomizer", true, false},
                                     {"auto"}};
  return {{.name = "ldp-mab", .labels = labels, .exponent = 0.5},
          {.name = "ldp-mab-klucb", .labels = labels, .exponent = 0.5},
          {.name = "ldp-bai", .labels = labels},
          {.name = "ldp-bco", .labels = labels, .exponent = 0.75},
          {.name = "ldp-bco-barrier", .labels = labels, .exponent = 2.0 / 3},
          {.name = "ldp-bco-two-point", .labels = labels, .exponent = 0.5}};
}

std::vector<std::string_view> ContextFreeSettings() {
  return {"law", "gap", "repeats", "nu", "variant", "domain", "loss"};
}

std::optional<absl::StatusOr<CellResult>> RunContextFree(const Cell& cell) {
  if (cell.environment == kArms) return RunArms(cell);
  if (cell.environment == kBestArm) return RunBestArm(cell);
  if (cell.environment == kConvex) return RunConvex(cell);
  return std::nullopt;
}

}  // namespace bandana::lab

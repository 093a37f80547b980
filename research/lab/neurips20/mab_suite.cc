#include "research/lab/neurips20/mab_suite.h"

#include "research/lab/neurips20/bai_run.h"
#include "research/lab/neurips20/bco_run.h"
#include "research/lab/neurips20/mab_run.h"

namespace bandana::lab {

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

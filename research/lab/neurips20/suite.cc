// [Z20] Locally differentially private (contextual) bandits learning.
#include "research/lab/neurips20/suite.h"

#include "common/base/status.h"
#include "research/lab/neurips20/context_run.h"
#include "research/lab/neurips20/mab_suite.h"

namespace bandana::lab {
namespace {

std::vector<Experiment> Experiments() {
  return {
      {.name = "neurips20-linear",
       .summary = "[Z20] Algorithm 5: local privacy of context and reward, regret at five epsilons",
       .environment = kContexts,
       .algorithms = {"random", "linucb", "ldp-linucb"},
       .labels = {"random", "non-private", "published", "gaussian", "auto"},
       .epsilons = {0.5, 1, 2, 5, 10},
       .horizons = {100'000},
       .figure = Figure::kRegretByEpsilon},
      {.name = "neurips20-linear-growth",
       .summary = "[Z20] Algorithm 5: regret against the horizon, beside the paper's exponent",
       .environment = kContexts,
       .algorithms = {"random", "linucb", "ldp-linucb"},
       .labels = {"random", "non-private", "published", "gaussian", "auto"},
       .epsilons = {2},
       .horizons = {1'000, 3'000, 10'000, 30'000, 100'000, 300'000},
       .figure = Figure::kSweep,
       .title = "local privacy of context and reward, epsilon 2",
       .sweep = "horizon",
       .seeds = 3},
      {.name = "neurips20-glm",
       .summary = "[Z20] Algorithm 3: logistic rewards, regret at five epsilons",
       .environment = kContexts,
       .settings = {{"link", "logistic"}, {"theta_l2", "4"}},
       .algorithms = {"random", "glm", "ldp-glm"},
       .labels = {"random", "non-private", "published", "published-joint", "gaussian", "auto"},
       .epsilons = {0.5, 1, 2, 5, 10},
       .horizons = {100'000},
       .figure = Figure::kRegretByEpsilon},
  };
}

std::vector<Contender> Contenders() {
  const std::vector<Label> proven = {
      {"published"}, {"privunit", true, false}, {"gaussian"}, {"auto"}, {"proven"}};
  Contender linear{.name = "ldp-linucb", .labels = proven, .reference = "linucb", .exponent = 0.75};
  Contender glm{.name = "ldp-glm", .labels = proven, .reference = "glm"};
  glm.labels.push_back({"published-joint"});
  return {{.name = "random", .labels = {{"random", false, false}}},
          {.name = "linucb", .labels = {{"non-private", false, false}}},
          {.name = "glm", .labels = {{"non-private", false, false}}},
          linear,
          glm};
}

absl::StatusOr<CellResult> Run(const Cell& cell) {
  if (cell.environment == kContexts) return RunContexts(cell);
  if (auto result = RunContextFree(cell); result.has_value()) return *std::move(result);
  return InvalidArgument("environment must be ", ToAbsl(kContexts), ", got `", cell.environment,
                         "`");
}

template <typename T>
std::vector<T> Joined(std::vector<T> first, const std::vector<T>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

const Suite& Neurips20Suite() {
  static const Suite suite = {
      .experiments = Joined(Experiments(), ContextFreeExperiments()),
      .contenders = Joined(Contenders(), ContextFreeContenders()),
      .settings = Joined({"dimension", "arms", "theta_l2", "noise", "link", "alpha", "draws"},
                         ContextFreeSettings()),
      .run = Run};
  return suite;
}

}  // namespace bandana::lab

#include "research/lab/fliphat/suite.h"

#include <string_view>
#include <utility>
#include <vector>

#include "research/lab/fliphat/run.h"

namespace bandana::lab {
namespace {

constexpr double kDelta = 0.01;  // as in the authors' experiments

std::vector<Experiment> Experiments() {
  Experiment time = {
      .name = "fliphat-time",
      .summary = "[FLIP] sparse parameter, d = 400: regret over time at four epsilons",
      .environment = "sparse",
      .algorithms = {"random", "fliphat"},
      .labels = {"random", "published", "published-repaired", "proven-forgetting", "proven",
                 "non-private"},
      .epsilons = {0.5, 1, 2, 5},
      .delta = kDelta,
      .horizons = {10'000},
      .figure = Figure::kRegretByEpsilon,
      .title = "sparse linear bandit, joint privacy",
      .seeds = 20};
  const auto sweep = [&time](std::string_view name, std::string_view summary, std::string_view key,
                             std::string_view values, std::string_view title) {
    Experiment experiment = time;
    experiment.name = name;
    experiment.summary = summary;
    experiment.settings = {{key, values}};
    experiment.labels = {"random", "published", "proven", "non-private"};
    experiment.epsilons = {1, 5};
    experiment.figure = Figure::kSweep;
    experiment.title = title;
    experiment.sweep = key;
    experiment.seeds = 10;
    return experiment;
  };
  Experiment rounds = time;
  rounds.labels = {"random", "published", "proven", "non-private"};
  rounds.epsilons = {0.5, 1, 5};
  rounds.figure = Figure::kRegretByRound;
  time.name = "fliphat-epsilon";
  time.summary = "[FLIP] sparse parameter, d = 400: regret at four epsilons, all forms";
  return {
      rounds,
      time,
      sweep("fliphat-dimension", "[FLIP] regret against the dimension, 400 to 4000", "dimension",
            "400,1000,2000,4000", "regret against the dimension"),
      sweep("fliphat-sparsity", "[FLIP] regret against the number of features that matter",
            "sparsity", "2,5,10,20", "regret against the number of features that matter"),
      sweep("fliphat-arms", "[FLIP] regret against the number of arms on offer", "pool",
            "2,3,5,10,20", "regret against the number of arms on offer"),
  };
}

}  // namespace

const Suite& FliphatSuite() {
  static const Suite suite = {
      .experiments = Experiments(),
      .contenders = {{.name = "random", .labels = {{"random", false, false}}},
                     {.name = "fliphat",
                      .labels = {{"published"},
                                 {"published-repaired"},
                                 {"proven"},
                                 {"proven-forgetting"},
                                 {"non-private", false, false}},
                      .reference = "fliphat"}},
      .settings = {"dimension", "pool", "sparsity", "noise", "selected", "reward_abs_max",
                   "context_abs_max", "lambda_factor"},
      .run = RunSparse};
  return suite;
}

}  // namespace bandana::lab

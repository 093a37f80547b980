#include "research/lab/fliphat/suite.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "research/lab/cells.h"
#include "research/lab/fliphat/learner.h"
#include "research/lab/tally.h"
#include "tools/base/settings.h"
#include "tools/environments/random.h"
#include "tools/environments/sparse.h"

namespace bandana::lab {
namespace {

struct Task {
  std::unique_ptr<Environment> environment;
  std::unique_ptr<SparseLearner> learner;  // null: random
};

absl::StatusOr<Task> MakeTask(const Cell& cell) {
  if (cell.environment != "sparse")
    return InvalidArgument("environment must be sparse, got `", cell.environment, "`");
  BANDANA_ASSIGN_OR_RETURN(Settings settings, SettingsOf(cell));
  SparseLearnerOptions options;
  BANDANA_ASSIGN_OR_RETURN(options.selected, settings.TakeInt("selected", 0, 0, 1'000'000));
  BANDANA_ASSIGN_OR_RETURN(options.reward_abs_max,
                           settings.TakeDouble("reward_abs_max", 2, 1e-9, kScaleMax));
  BANDANA_ASSIGN_OR_RETURN(options.context_abs_max,
                           settings.TakeDouble("context_abs_max", 0, 0, kScaleMax));
  BANDANA_ASSIGN_OR_RETURN(options.lambda_factor,
                           settings.TakeDouble("lambda_factor", 13.9, 1e-6, kScaleMax));
  Task task;
  BANDANA_ASSIGN_OR_RETURN(const std::vector<double> beta, SparseParameter(settings));
  BANDANA_ASSIGN_OR_RETURN(task.environment, MakeSparse(settings, cell.seed));
  if (cell.algorithm == "random") return task;
  options.dimension = task.environment->info().dimension;
  options.epsilon = {cell.epsilon.value_or(0)};
  options.delta = {cell.delta.value_or(0)};
  options.seed = cell.seed;
  options.parameter_l1 = std::accumulate(beta.begin(), beta.end(), 0.0);
  if (options.selected == 0) {
    options.selected = std::min(2 * static_cast<int>(beta.size()), options.dimension);
  }
  BANDANA_ASSIGN_OR_RETURN(task.learner, MakeSparseLearner(cell.label, options));
  return task;
}

// Settings: those of the environment `sparse` (dimension, pool, sparsity, noise), and `selected`
// (s; 0 is twice the sparsity, at most the dimension), `reward_abs_max`, `context_abs_max` (0: the
// form's own), `lambda_factor`. A pure function of the cell. Errors: INVALID_ARGUMENT.
absl::StatusOr<CellResult> RunSparse(const Cell& cell) {
  BANDANA_ASSIGN_OR_RETURN(const Task task, MakeTask(cell));
  const EnvironmentInfo& info = task.environment->info();
  const auto d = static_cast<std::size_t>(info.dimension);
  CellResult result{.cell = cell};
  result.mechanism = task.learner == nullptr ? "none" : task.learner->mechanism();
  result.dimension = info.dimension;
  result.users = info.users;
  result.arms = info.pool;
  SeededStream ties(cell.seed, StreamPurpose::kArrival, 0);
  Choice decision;
  for (std::uint64_t round = 0; round < cell.horizon; ++round) {
    task.environment->DecisionAt(round, decision);
    const std::uint64_t key = ties.Next();
    int shown = static_cast<int>(key % decision.expected.size());
    if (task.learner != nullptr) {
      BANDANA_ASSIGN_OR_RETURN(
          shown, GreedyArm(task.learner->estimate(), decision.features, info.dimension, key));
    }
    const double reward = task.environment->RewardAt(round, decision, shown);
    AddRound(round,
             {.best = decision.BestExpected(),
              .shown = decision.expected[shown],
              .mean = decision.MeanExpected(),
              .reward = reward},
             result);
    if (task.learner != nullptr) {
      BANDANA_RETURN_IF_ERROR(
          task.learner->Learn(std::span(decision.features).subspan(shown * d, d), reward));
    }
  }
  return result;
}

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

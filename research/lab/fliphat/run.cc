#include "research/lab/fliphat/run.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "common/base/limits.h"
#include "common/base/status.h"
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

}  // namespace

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

}  // namespace bandana::lab

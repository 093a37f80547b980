#include "research/lab/neurips18/run.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "research/lab/neurips18/policy.h"
#include "research/lab/tally.h"
#include "research/rounds/sphere_rounds.h"
#include "tools/base/settings.h"

namespace bandana::lab {
namespace {

struct Task {
  SphereRounds::Options world;
  PolicyOptions policy;
};

absl::StatusOr<Task> TakeTask(const Cell& cell) {
  BANDANA_ASSIGN_OR_RETURN(Settings settings, SettingsOf(cell));
  Task task;
  task.world.seed = cell.seed;
  BANDANA_ASSIGN_OR_RETURN(task.world.dimension,
                           settings.TakeInt("dimension", 5, 2, SphereRounds::kDimensionMax));
  BANDANA_ASSIGN_OR_RETURN(task.world.pool,
                           settings.TakeInt("pool", 25, 1, SphereRounds::kPoolMax));
  BANDANA_ASSIGN_OR_RETURN(task.world.theta_l2, settings.TakeDouble("theta_l2", 0.75, 1e-3, 1));
  if (cell.environment == "gap") {
    BANDANA_ASSIGN_OR_RETURN(task.world.gap,
                             settings.TakeDouble("gap", 0.1, 0, task.world.theta_l2));
  } else if (cell.environment != "sphere") {
    return InvalidArgument("environment must be sphere or gap, got ", cell.environment);
  } else if (settings.Has("gap")) {
    return InvalidArgument("gap is a setting of environment=gap");
  }
  static constexpr std::string_view kArms[] = {"fresh", "fixed"};
  BANDANA_ASSIGN_OR_RETURN(const std::string arms, settings.TakeChoice("arms", "fresh", kArms));
  task.world.fixed_arms = arms == "fixed";

  PolicyOptions& policy = task.policy;
  policy.dimension = task.world.dimension;
  policy.epsilon.value = cell.epsilon.value_or(0);
  policy.delta.value = cell.delta.value_or(0);
  policy.horizon = cell.horizon;
  policy.seed = cell.seed;
  static constexpr std::string_view kPolicies[] = {"thompson", "ucb"};
  BANDANA_ASSIGN_OR_RETURN(const std::string exploration,
                           settings.TakeChoice("policy", "thompson", kPolicies));
  policy.exploration = exploration == "ucb" ? Exploration::kUcb : Exploration::kThompson;
  BANDANA_ASSIGN_OR_RETURN(
      policy.scale,
      settings.TakeDouble("scale", policy.exploration == Exploration::kUcb ? 1 : 0.4, 0, 100));
  BANDANA_ASSIGN_OR_RETURN(policy.alpha, settings.TakeDouble("alpha", 0.3, 0, 100));
  BANDANA_ASSIGN_OR_RETURN(policy.prior_stddev, settings.TakeDouble("prior_stddev", 1, 1e-3, 1e3));
  BANDANA_ASSIGN_OR_RETURN(policy.reward_stddev,
                           settings.TakeDouble("reward_stddev", 0.1, 1e-3, 1e3));
  BANDANA_ASSIGN_OR_RETURN(policy.theta_l2_max, settings.TakeDouble("theta_max", 1, 1e-3, 1e3));
  BANDANA_RETURN_IF_ERROR(settings.Finish());
  return task;
}

// The largest; four at a time, since a comparison waits for the one before it.
float BestOf(std::span<const float> values) {
  float best[4] = {values[0], values[0], values[0], values[0]};
  std::size_t i = 0;
  for (; i + 4 <= values.size(); i += 4) {
    for (int l = 0; l < 4; ++l) best[l] = best[l] > values[i + l] ? best[l] : values[i + l];
  }
  for (; i < values.size(); ++i) best[0] = best[0] > values[i] ? best[0] : values[i];
  return *std::max_element(best, best + 4);
}

absl::StatusOr<std::unique_ptr<RoundPolicy>> MakePolicy(const Cell& cell,
                                                        const PolicyOptions& options) {
  if (cell.algorithm == "random") return nullptr;
  if (cell.algorithm == "linucb") return MakeNonPrivate(options);
  if (cell.label.starts_with("published")) return MakePublished(options, cell.label);
  return MakeProven(options, cell.label);
}

}  // namespace

absl::StatusOr<CellResult> RunJoint(const Cell& cell) {
  BANDANA_ASSIGN_OR_RETURN(const Task task, TakeTask(cell));
  BANDANA_ASSIGN_OR_RETURN(const SphereRounds world, SphereRounds::Create(task.world));
  BANDANA_ASSIGN_OR_RETURN(const std::unique_ptr<RoundPolicy> policy,
                           MakePolicy(cell, task.policy));
  const std::size_t pool = task.world.pool;
  CellResult result{.cell = cell};
  result.mechanism = policy == nullptr ? "none" : policy->mechanism();
  result.dimension = task.world.dimension;
  result.users = 1;
  result.arms = task.world.pool;

  SphereBlock block;
  std::vector<double> x(task.world.dimension);
  for (std::uint64_t round = 0; round < cell.horizon; ++round) {
    const int t = static_cast<int>(round % SphereRounds::kBlockRounds);
    if (t == 0) world.Fill(round / SphereRounds::kBlockRounds, block);
    const std::size_t first = t * pool;
    const std::span<const float> expected = std::span(block.expected).subspan(first, pool);
    // A policy at random shows arm 0 and is told nothing: the arms of a round are alike.
    int shown = 0;
    if (policy != nullptr) {
      BANDANA_ASSIGN_OR_RETURN(
          shown, policy->Choose(block.x.data() + first, block.stride, task.world.pool));
    }
    const double reward = world.Reward(block, t, shown);
    const double best = BestOf(expected);
    const double mean = std::accumulate(expected.begin(), expected.end(), 0.0f) / pool;
    AddRound(round,
             {.best = best,
              .shown = policy == nullptr ? mean : expected[shown],
              .mean = mean,
              .reward = reward},
             result);
    if (policy != nullptr) {
      for (std::size_t c = 0; c < x.size(); ++c) x[c] = block.x[c * block.stride + first + shown];
      BANDANA_RETURN_IF_ERROR(policy->Learn(x, reward));
    }
  }
  if (policy != nullptr)
    result.measures["grams_repaired"] = static_cast<double>(policy->grams_repaired());
  return result;
}

}  // namespace bandana::lab

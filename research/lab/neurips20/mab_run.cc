#include "research/lab/neurips20/mab_run.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "common/bandits/mab/index_policy.h"
#include "common/bandits/mab/tsallis_inf.h"
#include "common/base/status.h"
#include "common/ranking/policies/draw_arm.h"
#include "research/lab/neurips20/arm_sequence.h"
#include "research/lab/neurips20/mab_channel.h"
#include "research/lab/tally.h"
#include "tools/base/settings.h"
#include "tools/environments/random.h"

namespace bandana::lab {
namespace {

constexpr double kGapMax = 0.5;

struct ArmsTask {
  int arms = 0;
  ArmLaw law = ArmLaw::kStochastic;
  std::vector<double> gaps;
  int repeats = 1;
};

absl::StatusOr<NumberChannel> MakeChannel(const Cell& cell, std::uint64_t seed) {
  return NumberChannel::Create({.label = cell.label == "random" ? "non-private" : cell.label,
                                .epsilon = {cell.epsilon.value_or(0)},
                                .delta = {cell.delta.value_or(0)},
                                .range = {0, 1},
                                .binary = true,
                                .seed = seed});
}

absl::StatusOr<std::vector<double>> GapsOf(const std::string& text, const Cell& cell, int arms) {
  if (text != "worst") {
    double gap = 0;
    if (!absl::SimpleAtod(text, &gap) || !(gap >= 0 && gap <= 1)) {
      return InvalidArgument("gap must be `worst` or a number in [0, 1], got `", text, "`");
    }
    return std::vector<double>{gap};
  }
  BANDANA_ASSIGN_OR_RETURN(const NumberChannel channel, MakeChannel(cell, cell.seed));
  std::vector<double> gaps;
  for (const double factor : {2, 4, 8}) {
    const double gap =
        factor * channel.scale() * std::sqrt(arms / static_cast<double>(cell.horizon));
    gaps.push_back(std::min(gap, kGapMax));
    if (gap >= kGapMax) break;
  }
  return gaps;
}

absl::StatusOr<ArmsTask> TakeArmsTask(const Cell& cell) {
  BANDANA_ASSIGN_OR_RETURN(Settings settings, SettingsOf(cell));
  ArmsTask task;
  BANDANA_ASSIGN_OR_RETURN(task.arms, settings.TakeInt("arms", 10, 1, 1000));
  BANDANA_ASSIGN_OR_RETURN(const std::string law, settings.TakeText("law", "stochastic"));
  BANDANA_ASSIGN_OR_RETURN(task.law, ParseArmLaw(law));
  BANDANA_ASSIGN_OR_RETURN(const std::string gap, settings.TakeText("gap", "worst"));
  BANDANA_ASSIGN_OR_RETURN(task.gaps, GapsOf(gap, cell, task.arms));
  BANDANA_ASSIGN_OR_RETURN(task.repeats, settings.TakeInt("repeats", 1, 1, 1000));
  BANDANA_RETURN_IF_ERROR(settings.Finish());
  return task;
}

// Null for the random policy.
absl::StatusOr<std::unique_ptr<ArmPolicy>> MakePolicy(const Cell& cell, const ArmsTask& task,
                                                      const NumberChannel& channel) {
  if (cell.algorithm == "ldp-mab") {
    return TsallisInf::Create({.arms = task.arms,
                               .reward_middle = 0.5,
                               .reward_scale = channel.scale(),
                               .reward_excess = channel.output_range().has_value()
                                                    ? channel.output_range()->max - 0.5
                                                    : 0.5 + 2 * std::sqrt(channel.variance())});
  }
  IndexPolicy::Options options{.arms = task.arms,
                               .kind = IndexPolicy::Kind::kSubGaussian,
                               .variance_proxy = channel.variance_proxy()};
  if (channel.output_range().has_value()) {
    options.kind = IndexPolicy::Kind::kBernoulliKl;
    options.value_low = channel.output_range()->min;
    options.value_high = channel.output_range()->max;
  }
  return IndexPolicy::Create(options);
}

// One run at one gap; its share of the mean over all repeats is added to `result`.
absl::Status PlayArms(const Cell& cell, const ArmsTask& task, double gap, int repeat,
                      CellResult& result) {
  const double share = 1.0 / task.repeats;
  const std::uint64_t seed = cell.seed * 1000 + repeat;
  BANDANA_ASSIGN_OR_RETURN(
      const ArmSequence world,
      ArmSequence::Create({.law = task.law, .arms = task.arms, .gap = gap, .seed = seed}));
  std::optional<NumberChannel> channel;
  std::unique_ptr<ArmPolicy> policy;
  result.mechanism = "none";
  if (cell.label != "random") {
    BANDANA_ASSIGN_OR_RETURN(channel, MakeChannel(cell, seed));
    BANDANA_ASSIGN_OR_RETURN(policy, MakePolicy(cell, task, *channel));
    result.mechanism = channel->name();
  }
  SeededStream choices(seed, StreamPurpose::kArrival, 0);
  std::vector<double> probabilities(task.arms, 1.0 / task.arms);
  const double random_regret = gap * (task.arms - 1) / task.arms;
  double regret = 0;
  double reward = 0;
  std::size_t point = 0;
  for (std::uint64_t t = 0; t < cell.horizon; ++t) {
    if (policy != nullptr) policy->Probabilities(probabilities);
    const int arm = DrawArm(probabilities, choices.Uniform());
    const double seen = world.Reward(t, arm);
    const double best = world.Mean(t, world.best());
    regret += best - world.Mean(t, arm);
    reward += seen;
    result.random_regret += share * random_regret;
    result.random_reward += share * (best - random_regret);
    if (policy != nullptr) {
      BANDANA_ASSIGN_OR_RETURN(const double released, channel->Release(seen));
      BANDANA_RETURN_IF_ERROR(
          policy->Apply({.arm = arm, .reward = released, .probability = probabilities[arm]}));
    }
    if (!EndsPoint(t, cell.horizon)) continue;
    if (repeat == 0) result.curve.push_back({.round = t + 1});
    result.curve[point].regret += share * regret;
    result.curve[point++].reward += share * reward;
  }
  result.regret += share * regret;
  result.reward += share * reward;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CellResult> RunArms(const Cell& cell) {
  BANDANA_ASSIGN_OR_RETURN(const ArmsTask task, TakeArmsTask(cell));
  CellResult worst;
  for (const double gap : task.gaps) {
    CellResult result{.cell = cell};
    result.users = 1;
    result.arms = task.arms;
    for (int repeat = 0; repeat < task.repeats; ++repeat) {
      BANDANA_RETURN_IF_ERROR(PlayArms(cell, task, gap, repeat, result));
    }
    result.measures["gap"] = gap;
    if (worst.arms == 0 || result.regret > worst.regret) worst = result;
  }
  return worst;
}

}  // namespace bandana::lab

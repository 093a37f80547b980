// Worlds of lists: every list's value is enumerated.
#include <algorithm>
#include <cmath>

#include "common/judging/judge.h"
#include "common/judging/row.h"
#include "common/judging/simple_policies.h"
#include "tests/support/judging_cells.h"

namespace bandana::testing {
namespace {

constexpr std::size_t kSlots = 3;
constexpr double kListAlpha = 0.05;

// The expected clicks of lists of three arms, the first of which is looked at first.
double ValueOfList(const JudgingWorld::Means& means, int a, int b, int c) {
  const auto mean = [&](int arm) { return means[static_cast<std::size_t>(arm)]; };
  return 1 - (1 - mean(a)) * (1 - mean(b)) * (1 - mean(c));
}

double ValueOfUniform(const JudgingWorld::Means& means) {
  double sum = 0, count = 0;
  for (int a = 0; a < JudgingWorld::kArms; ++a) {
    for (int b = 0; b < JudgingWorld::kArms; ++b) {
      for (int c = 0; c < JudgingWorld::kArms; ++c) {
        if (a == b || a == c || b == c) continue;
        sum += ValueOfList(means, a, b, c);
        ++count;
      }
    }
  }
  return sum / count;
}

std::vector<int> Sorted(const JudgingWorld::Means& means) {
  std::vector<int> arms = {0, 1, 2, 3, 4};
  std::stable_sort(arms.begin(), arms.end(), [&](int a, int b) {
    return means[static_cast<std::size_t>(a)] > means[static_cast<std::size_t>(b)];
  });
  return arms;
}

std::vector<std::unique_ptr<JudgedPolicy>> Policies(const JudgingWorld& world) {
  std::vector<std::unique_ptr<JudgedPolicy>> policies;
  policies.push_back(MakeUniformPolicy());
  policies.push_back(
      std::make_unique<WorldPolicy>("best", [&world](const SlotView& view, auto& law) {
        for (const int arm : Sorted(world.means())) {
          if (view.is_taken(static_cast<std::size_t>(arm))) continue;
          law[static_cast<std::size_t>(arm)] = 1;
          return;
        }
      }));
  return policies;
}

const std::vector<JudgedPair> kPairs = {{0}, {1}, {1, 0}};

// Each slot as a decision of its own, as the mutant takes it.
void AddOwnSlots(const LoggedDecision& decision, Judge& judge) {
  std::vector<bool> taken(JudgingWorld::kArms, false);
  for (const LoggedSlot& slot : decision.slots) {
    LoggedDecision alone;
    alone.id = decision.id;
    alone.slots = {slot};
    // Arms that stand in earlier slots are not on offer.
    LoggedSlot& only = alone.slots[0];
    only.ids.clear();
    only.p.clear();
    only.q.clear();
    for (std::uint32_t arm = 0; arm < JudgingWorld::kArms; ++arm) {
      if (taken[arm]) continue;
      if (arm == slot.chosen) only.chosen = static_cast<std::uint32_t>(only.ids.size());
      only.ids.push_back(arm);
      only.p.push_back(slot.p[arm]);
      only.q.push_back(slot.q[arm]);
    }
    only.offered = static_cast<std::uint32_t>(only.ids.size());
    taken[slot.chosen] = true;
    judge.Add(alone);
  }
}

// The best arm that is left, by id.
std::vector<std::unique_ptr<JudgedPolicy>> OwnPolicies(const JudgingWorld& world) {
  std::vector<std::unique_ptr<JudgedPolicy>> policies;
  policies.push_back(MakeUniformPolicy());
  policies.push_back(
      std::make_unique<WorldPolicy>("best", [&world](const SlotView& view, auto& law) {
        for (const int arm : Sorted(world.means())) {
          const auto& ids = view.slot().ids;
          const auto found = std::find(ids.begin(), ids.end(), static_cast<std::uint32_t>(arm));
          if (found == ids.end()) continue;
          law[static_cast<std::size_t>(found - ids.begin())] = 1;
          return;
        }
      }));
  return policies;
}

}  // namespace

std::vector<ListOutcome> RunLists(const WorldOptions& options, int decisions) {
  WorldOptions lists = options;
  lists.slots = kSlots;
  lists.click_stops = true;
  JudgingWorld world(lists);
  JudgeOptions judge_options;
  const double low = options.epsilon > 0 ? -1 / (std::exp(options.epsilon) - 1) : 0;
  judge_options.scale = {low, 1 - low};
  judge_options.used = static_cast<std::uint64_t>(decisions);
  judge_options.alpha = kListAlpha;
  Judge prefix(judge_options, Policies(world), kPairs);
  JudgeOptions whole_options = judge_options;
  whole_options.lists = ListWeights::kWhole;
  Judge whole(whole_options, Policies(world), kPairs);
  Judge own(judge_options, OwnPolicies(world), kPairs);

  std::vector<ListOutcome> outcomes(kListTargets);
  std::vector<double> truth(kListTargets), tail(kListTargets);
  double count = 0;
  LoggedDecision decision;
  for (int t = 0; t < decisions; ++t) {
    world.Next(decision);
    prefix.Add(decision);
    whole.Add(decision);
    AddOwnSlots(decision, own);
    const std::vector<int> best = Sorted(world.means());
    const double uniform = ValueOfUniform(world.means());
    const double top = ValueOfList(world.means(), best[0], best[1], best[2]);
    const double values[kListTargets] = {uniform, top, top - uniform};
    const bool after = static_cast<std::uint64_t>(t) >= DesignDecisions(judge_options.used);
    count += after;
    for (std::size_t target = 0; target < kListTargets; ++target) {
      truth[target] += values[target] / decisions;
      if (!after) continue;
      // y' of a list sums over its slots, so each has its part of `low`.
      const double offset = target == 2 ? 0 : low * static_cast<double>(kSlots);
      tail[target] += (values[target] - offset) / judge_options.scale.width();
      const PairJudgement::Sides& sides = prefix.judgement(target).dr;
      const double mean = tail[target] / count;
      if (sides.lower.Excludes(mean, prefix.log_threshold()) ||
          sides.upper.Excludes(-mean, prefix.log_threshold())) {
        outcomes[target].inside = false;
      }
    }
  }
  for (std::size_t target = 0; target < kListTargets; ++target) {
    const auto value = [&](const Judge& judge, Estimator estimator) {
      return *MakeRow(judge, target, {estimator, IntervalKind::kLargeSample, 0.95, kListAlpha})
                  .value;
    };
    ListOutcome& outcome = outcomes[target];
    outcome.ips_error = value(prefix, Estimator::kIps) - truth[target];
    outcome.dr_error = value(prefix, Estimator::kDr) - truth[target];
    outcome.whole_error = value(whole, Estimator::kIps) - truth[target];
    // A mean over slots: its sum over the slots of a list.
    outcome.own_error = value(own, Estimator::kIps) * kSlots - truth[target];
  }
  return outcomes;
}

}  // namespace bandana::testing

// Cells of worlds: a law, an epsilon, a target; and what judging says of each world of them.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/judging_world.h"

namespace bandana::testing {

// Targets of every world, in this order.
enum WorldTarget { kTargetUniform, kTargetOneArm, kTargetBest, kTargetLogging, kTargetLift };
inline constexpr int kWorldTargets = 5;
const char* NameOf(WorldTarget target);

// Right code does none of these.
enum class JudgingMutant {
  kNone,
  kIgnoreLaw,   // a released value counts as if it were 0 or 1
  kSeesReward,  // predictions have learnt from the decision's own reward
  // Faults of the log:
  kDropsReactions,  // every fifth line with a reaction is lost
  kWritesTwice,     // a reaction stands in the next line as well
};

struct WorldOutcome {
  bool inside = true;    // the anytime interval held the truth at every decision
  double ips_error = 0;  // estimate less truth, over all decisions
  double dr_error = 0;
  bool large_shown = false;
  bool large_inside = false;
  bool normal_inside = false;     // the large-sample interval, were it always shown
  bool bootstrap_inside = false;  // a percentile bootstrap over decisions, where one was asked for
  double width = 0;               // of the anytime interval at the end
  double ideal = 0;               // of the interval that knows the true variance
  double ips_variance = 0;        // of the estimate, by the true moments given the past
  double dr_variance = 0;
  double term_variance = 0;       // of the terms of DR, as an interval sees it
  double true_term_variance = 0;  // the same by the laws of arms, rewards and release
};

// Worlds of lists of 3 slots, in which a click ends the list. Targets: the uniform policy, the list
// of the best arms in order, and the difference of the second to the first.
inline constexpr int kListTargets = 3;
struct ListOutcome {
  bool inside = true;    // the anytime interval held the truth at every decision
  double ips_error = 0;  // of prefix weights
  double dr_error = 0;
  double whole_error = 0;  // of the product over all slots
  double own_error = 0;    // mutant: the weight of the own slot alone
};
std::vector<ListOutcome> RunLists(const WorldOptions& options, int decisions);

// One world of `decisions`, all targets. `resamples`: of the bootstrap; 0: none.
std::vector<WorldOutcome> RunWorld(const WorldOptions& options, int decisions,
                                   JudgingMutant mutant = JudgingMutant::kNone, int resamples = 0);

}  // namespace bandana::testing

// Where a device randomizes a reward of which the posterior already says much.
#pragma once

#include "common/accounting/types.h"
#include "common/mechanisms/reward_randomizer.h"

namespace bandana {

// The part of `range` within k predictive standard deviations of the mean,
//   [mean - h, mean + h] with h = k sqrt(width^2 + reward_stddev^2),   k = 3/4 + epsilon / 4 in [1,
//   3],
// after the mean is moved into the range; not narrower than the range / 2^20. The randomizer's
// noise is proportional to the window, so k is small where noise outweighs what clipping loses
// (tuned on the worlds of docs/experiments.md). `mean` and `width` (posterior standard deviation)
// are those of the arm before its reward is known; not finite ones give the whole range. Threads:
// pure function.
RewardRange CentredWindow(const RewardRange& range, double mean, double width, double reward_stddev,
                          Epsilon epsilon);

// An event whose reward was randomized in `window` has variance v = reward_stddev^2 + VarianceMaxIn
// (window) and says as much as one of variance s2 = reward_stddev^2 + VarianceMax, the model's
// observation variance, whose features and reward are both scaled by sqrt(s2 / v) >= 1: this
// factor.
double EventScale(const RewardRandomizer& randomizer, const RewardRange& window,
                  double reward_stddev);

// Whether min < max and both lie in `range`: what a device accepts from a server.
bool IsWindowOf(const RewardRange& range, const RewardRange& window);

}  // namespace bandana

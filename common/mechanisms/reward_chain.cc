#include "common/mechanisms/reward_chain.h"

#include <cmath>
#include <string>

#include "common/base/sha256.h"

namespace bandana {

// PROOF: reward_randomizer begin
ClippedReward RewardClip::ToGrid(const RewardRange& window, const RawReward& reward,
                                 double default_reward) {
  double r = reward.value_.value_or(default_reward);
  if (std::isnan(r)) r = default_reward;
  // Written so that a NaN default fails the first test and maps to min.
  if (!(r > window.min)) return ClippedReward(0);
  if (r >= window.max) return ClippedReward(kRewardSteps);
  const double fraction = (r - window.min) / window.width();
  // fraction <= 1: rounding is monotone, so r - min <= width also in doubles.
  return ClippedReward(static_cast<std::uint32_t>(std::lround(fraction * kRewardSteps)));
}

NoiseInput RewardClip::InputOf(const ClippedReward& reward) {
  std::string text = "bandana clipped reward 1";
  for (int shift = 0; shift < 64; shift += 8) {
    text.push_back(static_cast<char>(std::uint64_t{reward.step_} >> shift));
  }
  return NoiseInput(Sha256Of(text));
}
// PROOF: reward_randomizer end

}  // namespace bandana
